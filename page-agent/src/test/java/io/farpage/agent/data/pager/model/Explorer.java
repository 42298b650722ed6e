package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.GuestThread.State;
import io.farpage.agent.data.pager.model.Step.Kind;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * All steps of a small world, in every order: depth first, each run from the start along a schedule whose first part
 * has been run before. A state between two duty cycles that was seen before is not explored again.
 *
 * <p>Each thread carries out a program. The kernel and the network inject no failures.
 */
final class Explorer implements Schedule {
    private final Setup setup;
    private final List<List<Step>> programs;
    private final boolean ends;
    private final Set<Long> seen = new HashSet<>();
    /** The steps that were possible at each point of the schedule that is being run; {@link #chosen} has indexes. */
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

    /** Explores until every state was seen, or the time is over. */
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
                List<Step> steps = chosenSteps();
                throw new AssertionError("repeat with: " + Replay.recipe(setup, cycleNanos(), steps), e);
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

    /** Whether every state was seen. */
    boolean isExhausted() {
        return isExhausted;
    }

    @Override
    public @Nullable Step next(World world, boolean inCycle) {
        if (depth == possible.size()) {
            if (!inCycle && !seen.add(Fingerprint.of(world, done.toString()))) {
                isAtRest = possible(world, false).size() == 1;
                return null;
            }
            possible.add(possible(world, inCycle));
            chosen.add(0);
        }
        Step step = possible.get(depth).get(chosen.get(depth));
        depth++;
        count(step);
        return step;
    }

    /**
     * So long that every pause of the agent is over in the next duty cycle; times make no difference between states.
     */
    @Override
    public long cycleNanos() {
        return World.LONG_NANOS;
    }

    /**
     * A state that was seen before needs no end; a state in which only the agent can take a step must come to its end.
     */
    @Override
    public boolean quiesces() {
        return isAtRest;
    }

    @Override
    public boolean inspectsSlowly() {
        return programs.stream().flatMap(List::stream).anyMatch(step -> step.kind() == Kind.DIRECT);
    }

    private void count(Step step) {
        switch (step.kind()) {
            case READ, WRITE, ZERO, DIRECT, REMOVE, REMOVE_TWO, DISCARD, REMOVE_PART, REMOVE_ACROSS, FORK ->
                done.set(step.first(), done.get(step.first()) + 1);
            default -> {}
        }
    }

    private List<Step> possible(World world, boolean inCycle) {
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
        if (world.agent.kills() > 0) {
            world.fabric.addLinks(steps);
        }
        if (ends && world.kernel().isAlive()) {
            steps.add(Step.of(Kind.END));
        }
        if (setup.has(Feature.KEPT) && world.agent.kills() == 0 && world.agent.ended() == null) {
            steps.add(Step.of(Kind.KILL));
        }
        if (!inCycle && !world.kernel().isAlive() && world.agent.ended() == null) {
            steps.add(Step.of(Kind.PROBE));
        }
        steps.add(Step.AGENT);
        return steps;
    }

    private List<Step> chosenSteps() {
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < depth; i++) {
            steps.add(possible.get(i).get(chosen.get(i)));
        }
        return steps;
    }

    @Override
    public String toString() {
        return seen.size() + " states between duty cycles, " + runs + " schedules, "
                + (isExhausted ? "everything" : "not everything within the time");
    }
}
