package io.farpage.bench.command;

import io.farpage.bench.report.Bounds;
import io.farpage.bench.report.Subject;
import java.nio.file.Path;
import java.util.List;

/** What a {@link MeasuringCommand} has to know of what it is to measure. */
public interface Plan {
    Subject subject();

    /** Of page content and order. */
    long seed();

    /** Where the report goes. */
    Path report();

    /** Why cases that were not asked for by name are left out, a line each. */
    List<String> skipped();

    /** Hugepages of 2 MiB that all programs take together. */
    long hugepages();

    /** What fails the run if it is exceeded. */
    Bounds bounds();
}
