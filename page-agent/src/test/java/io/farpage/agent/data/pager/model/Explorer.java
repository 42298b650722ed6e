package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.GuestThread.State;
import io.farpage.agent.data.pager.model.Step.Kind;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Everything that can happen to a small world, in every order: depth first, each run from the start along a schedule of which the first
 * part has been run before. Between two turns of the agent a state that was seen before is not gone into again.
 *
 * <p>Threads carry out a program each. The kernel and the network do nothing of their own accord here.
 */
final class Explorer implements Schedule {
    private final Setup setup;
    private final List<List<Step>> programs;
    private final boolean ends;
    private final Set<Long> seen = new HashSet<>();
    /** Of the schedule that is being run: what was possible at each step, and which of that is taken. */
    private final List<List<Step>> possible = new ArrayList<>();

    private final List<Integer> chosen = new ArrayList<>();
    private final List<Integer> done = new ArrayList<>();
    private int depth;
    private boolean isAtRest;
    private int runs;
    private boolean isExhausted;

    /**
     * @param programs what each thread does
     * @param ends whether the VMM may be killed at any moment
     */
    Explorer(Setup setup, List<List<Step>> programs, boolean ends) {
        this.setup = setup;
        this.programs = programs;
        this.ends = ends;
    }

    /** Goes on until everything has been seen, or there is no more time. */
    void explore(long untilNanos) {
        do {
            depth = 0;
            isAtRest = false;
            done.clear();
            programs.forEach(program -> done.add(0));
            runs++;
            try {
                new World(setup, this).run();
            } catch (AssertionError | RuntimeException e) {
                List<Step> taken = taken();
                throw new AssertionError("repeat with: " + Replay.recipe(setup, turnNanos(), taken), e);
            }
        } while (backtrack() && System.nanoTime() - untilNanos < 0);
    }

    private boolean backtrack() {
        for (int last = depth - 1; last >= 0; last--) {
            int next = chosen.get(last) + 1;
            possible.subList(last + 1, possible.size()).clear();
            chosen.subList(last + 1, chosen.size()).clear();
            if (next < possible.get(last).size()) {
                chosen.set(last, next);
                return true;
            }
        }
        isExhausted = true;
        return false;
    }

    /** Whether nothing is left to be seen. */
    boolean isExhausted() {
        return isExhausted;
    }

    @Override
    public @Nullable Step next(World world, boolean inTurn) {
        if (depth == possible.size()) {
            if (!inTurn && !seen.add(Fingerprint.of(world, done.toString()))) {
                isAtRest = possible(world, false).size() == 1;
                return null;
            }
            possible.add(possible(world, inTurn));
            chosen.add(0);
        }
        Step step = possible.get(depth).get(chosen.get(depth));
        depth++;
        count(step);
        return step;
    }

    /** So long that the agent never pauses, and that times need not be told apart. */
    @Override
    public long turnNanos() {
        return World.LONG_NANOS;
    }

    /** What is known goes on as before; only where nothing but the agent can go on it must come to its end. */
    @Override
    public boolean settles() {
        return isAtRest;
    }

    @Override
    public boolean inspectsSlowly() {
        return programs.stream().flatMap(List::stream).anyMatch(step -> step.kind() == Kind.DIRECT);
    }

    private void count(Step step) {
        switch (step.kind()) {
            case READ, WRITE, ZERO, DIRECT, REMOVE, REMOVE_TWO, DISCARD, CUT, CUT_ACROSS, FORK ->
                done.set(step.first(), done.get(step.first()) + 1);
            default -> {}
        }
    }

    private List<Step> possible(World world, boolean inTurn) {
        List<Step> steps = new ArrayList<>();
        for (GuestThread thread : world.threads) {
            List<Step> program = programs.get(thread.number);
            int next = done.get(thread.number);
            if (World.canRun(thread)) {
                steps.add(Step.of(Kind.RUN, thread.number));
            } else if (thread.state == State.IDLE && world.kernel().isAlive() && next < program.size()) {
                steps.add(program.get(next));
            }
        }
        world.fabric.addSteps(steps);
        world.pins.addSteps(steps);
        if (ends && world.kernel().isAlive()) {
            steps.add(Step.of(Kind.END));
        }
        if (!inTurn && !world.kernel().isAlive() && world.ended == null) {
            steps.add(Step.of(Kind.PROBE));
        }
        steps.add(Step.AGENT);
        return steps;
    }

    private List<Step> taken() {
        List<Step> taken = new ArrayList<>();
        for (int i = 0; i < depth; i++) {
            taken.add(possible.get(i).get(chosen.get(i)));
        }
        return taken;
    }

    @Override
    public String toString() {
        return seen.size() + " states between turns, " + runs + " schedules, "
                + (isExhausted ? "everything" : "not everything, for want of time");
    }
}
