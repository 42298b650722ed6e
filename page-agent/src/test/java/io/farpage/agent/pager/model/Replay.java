package io.farpage.agent.pager.model;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A schedule that was written down. */
final class Replay implements Schedule {
    private final List<Step> steps;
    private int at;

    Replay(List<Step> steps) {
        this.steps = steps;
    }

    @Override
    public @Nullable Step next(World world, boolean inTurn) {
        if (at == steps.size() || (inTurn && isBetweenTurns(steps.get(at)))) {
            return null;
        }
        return steps.get(at++);
    }

    private static boolean isBetweenTurns(Step step) {
        return switch (step.kind()) {
            case WAIT, EXPIRE, LIFE, PROBE -> true;
            default -> false;
        };
    }

    /** Runs a schedule; throws what it finds. */
    static void run(Setup setup, List<Step> steps) {
        new World(setup, new Replay(steps)).run();
    }

    /** As short a schedule as is found that fails, too. */
    static List<Step> shortest(Setup setup, List<Step> failing) {
        List<Step> shortest = failing;
        for (int length = Integer.highestOneBit(Math.max(1, failing.size())); length >= 1; length /= 2) {
            for (int from = 0; from + length <= shortest.size(); ) {
                List<Step> without = new ArrayList<>(shortest.subList(0, from));
                without.addAll(shortest.subList(from + length, shortest.size()));
                if (fails(setup, without)) {
                    shortest = without;
                } else {
                    from += length;
                }
            }
        }
        return shortest;
    }

    private static boolean fails(Setup setup, List<Step> steps) {
        try {
            run(setup, steps);
            return false;
        } catch (AssertionError | RuntimeException e) {
            return true;
        }
    }

    /** What to write into a test, so that it fails again. */
    static String recipe(Setup setup, List<Step> steps) {
        return "Replay.run(" + setup + ", Step.parse(\"" + Step.text(steps) + "\"));";
    }
}
