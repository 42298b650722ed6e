package io.farpage.agent.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.config.Config;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class AgentOptionsTest {
    @Test
    void shouldBindNoShardUnlessAsked() {
        assertEquals(List.of(OptionalInt.empty()), AgentOptions.shardCpus(config(Map.of())));
        assertEquals(
                List.of(OptionalInt.empty(), OptionalInt.empty()),
                AgentOptions.shardCpus(config(Map.of("shard.count", "2"))));
    }

    @Test
    void shouldBindEveryShardToItsCpu() {
        assertEquals(List.of(OptionalInt.of(5)), AgentOptions.shardCpus(config(Map.of("shard.cpu", "5"))));
        assertEquals(
                List.of(OptionalInt.of(3), OptionalInt.of(2)),
                AgentOptions.shardCpus(config(Map.of("shard.count", "2", "shard.cpu", "3, 2"))));
    }

    @Test
    void shouldRefuseCpusForMoreOrFewerShardsThanThereAre() {
        IllegalArgumentException few = assertThrows(
                IllegalArgumentException.class,
                () -> AgentOptions.shardCpus(config(Map.of("shard.count", "2", "shard.cpu", "3"))));
        assertEquals(
                "shard.cpu names 1 CPUs, [3], but shard.count is 2; name one for each shard, or leave it out",
                few.getMessage());
        assertThrows(IllegalArgumentException.class, () -> AgentOptions.shardCpus(config(Map.of("shard.cpu", "2,3"))));
    }

    private static Config config(Map<String, String> flags) {
        return AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), flags);
    }
}
