package io.farpage.cli.local;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class PlanTest {

    /** Several agents on one host could otherwise leave nothing of its CPUs to other programs. */
    @Test
    void shouldStartAgentsWithoutARealTimePriority() {
        Plan plan = new Plan(Path.of("/state"), 3, 128L << 20, OptionalLong.empty());
        for (String name : plan.names()) {
            List<String> arguments = plan.agentArguments(name, "http://127.0.0.1:7400");
            int value = arguments.indexOf("shard.realtime_priority=0");
            assertTrue(value > 0 && arguments.get(value - 1).equals("--set"), arguments.toString());
        }
    }
}
