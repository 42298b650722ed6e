package io.farpage.agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.ShardPulse;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.rest.Health;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The health that an agent reports before its control threads run. */
class AgentHealthStartTest {
    private Instant now = Instant.EPOCH;
    private final AgentHealth health = new AgentHealth(
            new ShardPulse(List.of()),
            new AgentHealth.Sources(Optional::empty, List::of, () -> "ordinary pages", Optional::empty),
            () -> now);

    @AfterEach
    void close() {
        health.close();
    }

    private Health answer() {
        return Health.of("page-agent", "1", Map.of(), health.parts());
    }

    @Test
    void shouldBeUnhealthyButNotStalledWhileTheAgentStarts() {
        now = now.plus(Duration.ofSeconds(100));
        assertFalse(answer().healthy());
        assertEquals("the agent is starting", health.parts().getFirst().detail());
        assertEquals(
                Optional.of("1970-01-01T00:00:00Z"), health.parts().getFirst().since());
        assertFalse(health.isRegistered());
        assertEquals(Optional.empty(), health.stalled());
    }

    @Test
    void shouldBeStalledWhenTheControlThreadsNeverRun() {
        now = now.plus(Duration.ofSeconds(130));
        assertFalse(answer().healthy());
        assertEquals(
                Optional.of("1970-01-01T00:00:00Z"), health.parts().getFirst().since());
        assertEquals(Optional.of("control: the agent's control threads do not run"), health.stalled());
    }

    @Test
    void shouldBeHealthyWhenTheAgentHasStarted() {
        health.start(() -> true);
        Deadlines.await("the first look", Duration.ofSeconds(20)).until(() -> answer().healthy());
        assertTrue(health.isRegistered());
    }
}
