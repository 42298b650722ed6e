package io.farpage.bench.footprint;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An agent that is registered and has no link and no guest. */
final class IdleAgent {
    private static final long SETTLE_MILLIS = 3000;

    private IdleAgent() {}

    static List<Section> measure(Bench bench) throws InterruptedException {
        List<Section> sections = new ArrayList<>();
        try (Agent agent = Agent.start(bench, "idle", List.of(), Map.of())) {
            bench.step("an idle agent: waiting until it is idle");
            Thread.sleep(SETTLE_MILLIS);
            Figures cpu = agent.cpu();
            List<Row> rows = new ArrayList<>(
                    List.of(new Row("as it started", agent.figures().with(cpu))));
            if (bench.jvm().isPresent()) {
                rows.add(new Row("after a collection of garbage", agent.settled()));
            }
            sections.add(new Section("idle", "an idle agent, without its pool", rows));
        }
        bench.step("an idle agent: its JVM");
        if (bench.jvm().isEmpty()) {
            bench.leftOut()
                    .add("what the JVM says of its memory: the Java that runs this has no jcmd; run it with a JDK");
            return sections;
        }
        try (Agent agent = Agent.start(bench, "tracked", List.of(JvmFigures.TRACKING), Map.of())) {
            Thread.sleep(SETTLE_MILLIS);
            sections.add(new Section(
                    "jvm",
                    "what the JVM of an idle agent says (NativeMemoryTracking=summary)",
                    bench.jvm().get().categories(agent.child().pid())));
        }
        return sections;
    }
}
