package io.farpage.agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.control.ShardPulse;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The health that an agent reports before its control threads run. */
class AgentHealthStartTest {
    private Instant now = Instant.EPOCH;

    @Test
    void shouldBeStartingThenFailedWhenTheControlThreadsDoNotRun() {
        AgentHealth.Sources sources = new AgentHealth.Sources(
                () -> false, Optional::empty, List::of, () -> "ordinary pages", Optional::empty);
        try (AgentHealth health = new AgentHealth(new ShardPulse(List.of()), sources, () -> now)) {
            now = now.plus(Duration.ofSeconds(100));
            assertEquals("degraded", health.parts().getFirst().state());
            assertEquals("the agent is starting", health.parts().getFirst().detail());
            now = now.plus(Duration.ofSeconds(30));
            assertEquals("failed", health.parts().getFirst().state());
            assertEquals(
                    Optional.of("1970-01-01T00:00:00Z"),
                    health.parts().getFirst().since());
        }
    }
}
