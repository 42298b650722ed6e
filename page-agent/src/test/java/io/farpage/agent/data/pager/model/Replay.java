package io.farpage.agent.data.pager.model;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A schedule that was written down. */
public final class Replay implements Schedule {
    private final List<Step> steps;
    private final long cycleNanos;
    private final boolean[] without;
    private int at;

    public Replay(long cycleNanos, List<Step> steps) {
        this.cycleNanos = cycleNanos;
        this.steps = steps;
        this.without = new boolean[steps.size()];
    }

    @Override
    public long cycleNanos() {
        return cycleNanos;
    }

    @Override
    public @Nullable Step next(World world, boolean inCycle) {
        if (at == steps.size() || (inCycle && isBetweenCycles(steps.get(at)))) {
            return null;
        }
        return steps.get(at++);
    }

    @Override
    public boolean inspectsSlowly() {
        return steps.stream().anyMatch(step -> switch (step.kind()) {
            case DIRECT, INSPECT, INSPECTED -> true;
            default -> false;
        });
    }

    private static boolean isBetweenCycles(Step step) {
        return switch (step.kind()) {
            case WAIT, EXPIRE, LIFE, PROBE -> true;
            default -> false;
        };
    }

    @Override
    public void passedOver(Step step) {
        without[at - 1] = true;
    }

    /** The steps that applied. */
    private List<Step> applied() {
        List<Step> applied = new ArrayList<>();
        for (int i = 0; i < steps.size(); i++) {
            if (!without[i]) {
                applied.add(steps.get(i));
            }
        }
        return applied;
    }

    /**
     * Runs a schedule; throws what it finds.
     *
     * @throws IllegalArgumentException if one of its steps no longer applies: the schedule would not find the fault
     *     again that it once found
     */
    static void run(Setup setup, long cycleNanos, List<Step> steps) {
        Replay replay = new Replay(cycleNanos, steps);
        new World(setup, replay).run();
        for (int i = 0; i < steps.size(); i++) {
            if (replay.without[i]) {
                throw new IllegalArgumentException("step " + (i + 1) + ", " + steps.get(i)
                        + ", no longer applies; find a schedule that does what this one was for, and write it"
                        + " down anew");
            }
        }
    }

    /** As short a schedule as is found that fails, too. */
    static List<Step> shortest(Setup setup, long cycleNanos, List<Step> failing) {
        List<Step> shortest = failing;
        List<Step> shorter = shorter(setup, cycleNanos, failing);
        while (shorter.size() < shortest.size()) {
            shortest = shorter;
            shorter = shorter(setup, cycleNanos, shortest);
        }
        return shortest;
    }

    private static List<Step> shorter(Setup setup, long cycleNanos, List<Step> failing) {
        List<Step> shortest = failing;
        for (int length = Integer.highestOneBit(Math.max(1, failing.size())); length >= 1; length /= 2) {
            for (int from = 0; from + length <= shortest.size(); ) {
                List<Step> without = new ArrayList<>(shortest.subList(0, from));
                without.addAll(shortest.subList(from + length, shortest.size()));
                if (fails(setup, cycleNanos, without)) {
                    shortest = without;
                } else {
                    from += length;
                }
            }
        }
        return shortest;
    }

    private static boolean fails(Setup setup, long cycleNanos, List<Step> steps) {
        try {
            new World(setup, new Replay(cycleNanos, steps)).run();
            return false;
        } catch (AssertionError | RuntimeException e) {
            return true;
        }
    }

    /** What to write into a test, so that what a schedule found is found again. */
    static String recipe(Setup setup, long cycleNanos, List<Step> failing) {
        Replay shortest = new Replay(cycleNanos, shortest(setup, cycleNanos, failing));
        try {
            new World(setup, shortest).run();
        } catch (AssertionError | RuntimeException e) {
            // What it is for.
        }
        return "Replay.run(%s, %s, Step.parse(\"%s\"));"
                .formatted(
                        setup,
                        cycleNanos == World.LONG_NANOS ? "World.LONG_NANOS" : "World.SHORT_NANOS",
                        Step.text(shortest.applied()));
    }
}
