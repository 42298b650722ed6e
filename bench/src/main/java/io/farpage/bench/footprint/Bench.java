package io.farpage.bench.footprint;

import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.process.Children;
import io.farpage.progress.Progress;
import java.util.List;
import java.util.Optional;

/**
 * What all parts of a footprint share.
 *
 * @param children starts programs, which end with this one
 * @param coordinator of the agents
 * @param progress shows what goes on
 * @param options of the command
 * @param jvm asks the JVM of an agent; empty if there is no tool for that
 * @param leftOut gets what is not measured, with the reason
 */
record Bench(
        Children children,
        Coordinator coordinator,
        Progress progress,
        FootprintOptions options,
        Optional<JvmFigures> jvm,
        List<String> leftOut) {
    /** One more step is done, and another begins. */
    void step(String now) {
        progress.advance(1);
        progress.label(now);
    }
}
