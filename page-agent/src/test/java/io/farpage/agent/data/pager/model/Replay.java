package io.farpage.agent.data.pager.model;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A schedule that was written down. */
final class Replay implements Schedule {
    private final List<Step> steps;
    private final long turnNanos;
    private final boolean[] without;
    private int at;

    Replay(long turnNanos, List<Step> steps) {
        this.turnNanos = turnNanos;
        this.steps = steps;
        this.without = new boolean[steps.size()];
    }

    @Override
    public long turnNanos() {
        return turnNanos;
    }

    @Override
    public @Nullable Step next(World world, boolean inTurn) {
        if (at == steps.size() || (inTurn && isBetweenTurns(steps.get(at)))) {
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

    private static boolean isBetweenTurns(Step step) {
        return switch (step.kind()) {
            case WAIT, EXPIRE, LIFE, PROBE -> true;
            default -> false;
        };
    }

    @Override
    public void passedOver(Step step) {
        without[at - 1] = true;
    }

    /** The steps that meant something. */
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
     * @throws IllegalArgumentException if one of its steps means nothing any more: what the schedule once found, it would not find again
     */
    static void run(Setup setup, long turnNanos, List<Step> steps) {
        Replay replay = new Replay(turnNanos, steps);
        new World(setup, replay).run();
        for (int i = 0; i < steps.size(); i++) {
            if (replay.without[i]) {
                throw new IllegalArgumentException(
                        "step " + (i + 1) + ", " + steps.get(i)
                                + ", does not apply any more; find a schedule that does what this one was for, and write it down anew");
            }
        }
    }

    /** As short a schedule as is found that fails, too. */
    static List<Step> shortest(Setup setup, long turnNanos, List<Step> failing) {
        List<Step> shortest = failing;
        List<Step> shorter = shorter(setup, turnNanos, failing);
        while (shorter.size() < shortest.size()) {
            shortest = shorter;
            shorter = shorter(setup, turnNanos, shortest);
        }
        return shortest;
    }

    private static List<Step> shorter(Setup setup, long turnNanos, List<Step> failing) {
        List<Step> shortest = failing;
        for (int length = Integer.highestOneBit(Math.max(1, failing.size())); length >= 1; length /= 2) {
            for (int from = 0; from + length <= shortest.size(); ) {
                List<Step> without = new ArrayList<>(shortest.subList(0, from));
                without.addAll(shortest.subList(from + length, shortest.size()));
                if (fails(setup, turnNanos, without)) {
                    shortest = without;
                } else {
                    from += length;
                }
            }
        }
        return shortest;
    }

    private static boolean fails(Setup setup, long turnNanos, List<Step> steps) {
        try {
            new World(setup, new Replay(turnNanos, steps)).run();
            return false;
        } catch (AssertionError | RuntimeException e) {
            return true;
        }
    }

    /** What to write into a test, so that what a schedule found is found again. */
    static String recipe(Setup setup, long turnNanos, List<Step> failing) {
        Replay shortest = new Replay(turnNanos, shortest(setup, turnNanos, failing));
        try {
            new World(setup, shortest).run();
        } catch (AssertionError | RuntimeException e) {
            // What it is for.
        }
        return "Replay.run(%s, %s, Step.parse(\"%s\"));"
                .formatted(
                        setup,
                        turnNanos == World.LONG_NANOS ? "World.LONG_NANOS" : "World.SHORT_NANOS",
                        Step.text(shortest.applied()));
    }
}
