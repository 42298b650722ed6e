package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.model.Step.Kind;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Inspections of the VMM for pins. An inspection finds the direct reads that are under way from its beginning to its
 * end and misses all others. Inspections take no time, or, if they are slow, begin and end as steps of the schedule.
 */
final class SimulatedPins implements Pins {
    private final boolean slow;
    private final Supplier<List<GuestThread>> threads;
    /**
     * The inspection under way: threads that were in a direct read when it began, and which read of theirs that was.
     */
    private final Map<GuestThread, Integer> pinning = new HashMap<>();

    private boolean underWay;
    private boolean quiescing;
    private long wanted;
    private long started;
    private long passed;
    private boolean held;
    private boolean wasHeld;
    private int asked;
    private boolean isKept;
    private boolean lasting;

    /** @param threads of the guest; those that are in the middle of a direct read have a descriptor open for it */
    SimulatedPins(boolean slow, Supplier<List<GuestThread>> threads) {
        this.slow = slow;
        this.threads = threads;
    }

    @Override
    public long inspect() {
        asked++;
        wanted = started + 1;
        if (isPrompt()) {
            inspectNow();
        }
        return wanted;
    }

    @Override
    public boolean passed(long inspection) {
        if (isPrompt() && passed < inspection) {
            inspectNow();
        }
        return passed >= inspection;
    }

    @Override
    public boolean isHeld() {
        if (isPrompt() && held) {
            inspectNow();
        }
        wasHeld |= held;
        return held;
    }

    @Override
    public boolean isLasting() {
        return lasting;
    }

    /** From now on every inspection finds pins, which may last and be for reading, or may not. */
    void keep(boolean mayLast) {
        isKept = true;
        lasting = mayLast;
        inspectNow();
    }

    @Override
    public boolean mayStall() {
        return false;
    }

    @Override
    public boolean isStalled() {
        return false;
    }

    /** Whether {@link #isHeld} has answered true since the last call. */
    boolean pollHeld() {
        boolean was = wasHeld;
        wasHeld = false;
        return was;
    }

    /** How often the pager has asked for an inspection. */
    int asked() {
        return asked;
    }

    private boolean isPrompt() {
        return !slow || quiescing;
    }

    private void inspectNow() {
        begin();
        end();
    }

    boolean canBegin() {
        return slow && !underWay;
    }

    boolean canEnd() {
        return underWay;
    }

    /** Adds what an inspection can do next. One that the pager does not wait for begins only while pages are held. */
    void addSteps(List<Step> steps) {
        if (canEnd()) {
            steps.add(Step.of(Kind.INSPECTED));
        } else if (canBegin() && (wanted > started || held)) {
            steps.add(Step.of(Kind.INSPECT));
        }
    }

    void begin() {
        underWay = true;
        started++;
        pinning.clear();
        for (GuestThread thread : threads.get()) {
            if (thread.isPinning()) {
                pinning.put(thread, thread.directReads);
            }
        }
    }

    void end() {
        underWay = false;
        pinning.entrySet().removeIf(entry -> !isStillInDirectRead(entry.getKey(), entry.getValue()));
        held = isKept || !pinning.isEmpty();
        pinning.clear();
        if (!held) {
            passed = started;
        }
    }

    private static boolean isStillInDirectRead(GuestThread thread, int number) {
        return thread.isPinning() && thread.directReads == number;
    }

    /** From now on inspections take no time. */
    void quiesce() {
        quiescing = true;
        inspectNow();
    }

    /** From now on inspections are as slow as they were before {@link #quiesce}. */
    void resume() {
        quiescing = false;
    }

    /** The stage of an inspection: 0 if it has passed, 1 if the next one that ends decides, 2 if it has not begun. */
    int stage(long inspection) {
        return passed >= inspection ? 0 : inspection <= started ? 1 : 2;
    }

    /** The state of the inspections. */
    String shape() {
        List<Integer> found = pinning.entrySet().stream()
                .filter(entry -> isStillInDirectRead(entry.getKey(), entry.getValue()))
                .map(entry -> entry.getKey().number)
                .sorted()
                .toList();
        return (underWay ? "under way " : "") + (held ? "held " : "") + (wanted > started ? "wanted " : "") + found;
    }
}
