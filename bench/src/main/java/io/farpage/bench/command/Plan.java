package io.farpage.bench.command;

import io.farpage.bench.report.Bounds;
import io.farpage.bench.report.Subject;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** What a {@link MeasuringCommand} has to know of what it is to measure. */
public interface Plan {
    Subject subject();

    /** The options that every command has. */
    RunOptions run();

    /** Why cases that were not asked for by name are left out, a line each. */
    List<String> skipped();

    /** Rounds that are asked for, in all scenarios together. */
    long allRounds();

    /** About how long all of it takes on a quiet machine, if no round is replaced. */
    Duration expected();

    /** Hugepages of 2 MiB that all programs take together. */
    long hugepages();

    /** What fails the run if it is exceeded. */
    default Bounds bounds() {
        return new Bounds(Map.of());
    }

    /**
     * Refuses options.
     *
     * @throws IllegalArgumentException with {@code otherwise}, which names the option, the value and what is allowed
     */
    static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
