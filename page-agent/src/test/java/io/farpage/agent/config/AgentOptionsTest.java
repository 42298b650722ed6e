package io.farpage.agent.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.agent.control.link.LinkOptions;
import io.farpage.agent.data.shard.MessageMemory;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.linux.ThreadScheduling;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class AgentOptionsTest {
    @Test
    void shouldTakeTheLowestRealTimePriorityUnlessShardsSpin() {
        assertEquals("ordinary", scheduled(Map.of("shard.idle", "spin")));
        assertEquals("ordinary", scheduled(Map.of("shard.realtime_priority", "0")));
        assertEquals(
                "not started", AgentOptions.shardScheduling(config(Map.of())).describe());
        assertEquals(1, AgentOptions.soft(config(Map.of())).responders().realTimePriority());
        assertEquals(
                0,
                AgentOptions.soft(config(Map.of("shard.realtime_priority", "0")))
                        .responders()
                        .realTimePriority());
        assertEquals(
                7,
                AgentOptions.soft(config(Map.of("shard.realtime_priority", "7")))
                        .responders()
                        .realTimePriority());
    }

    private static String scheduled(Map<String, String> settings) {
        ThreadScheduling scheduling = AgentOptions.shardScheduling(config(settings));
        scheduling.start();
        return scheduling.describe();
    }

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

    @Test
    void shouldRefuseKeysThatHaveNoEffectAndSayWhy() {
        ConfigException refused = assertThrows(
                ConfigException.class,
                () -> AgentKeys.SCHEMA.load(
                        Optional.empty(), Map.of("FARPAGE_RDMA_MAX_INLINE_DATA", "64"), Map.of("rdma.max_sge", "4")));
        assertEquals(
                List.of(
                        "variable FARPAGE_RDMA_MAX_INLINE_DATA from the environment is no longer a key of page-agent: a"
                                + " page is larger than what can be sent inline; remove it",
                        "key rdma.max_sge from command line is no longer a key of page-agent: agents move a page with"
                                + " one scatter/gather entry; remove it"),
                refused.problems());
    }

    @Test
    void shouldHaveCompletionsForEveryQueuePairOfLinksAndTrials() {
        LinkOptions links = AgentOptions.links(config(Map.of("link.max", "2", "rdma.max_send_wr", "10")));
        int ownQueuePair = 10 + 1;
        int queuePairsForAPeerWithMoreShards = (LinkOptions.MAX_SHARDS - 1) * 2;
        assertEquals(
                (2 + LinkOptions.TRIALS) * (ownQueuePair + queuePairsForAPeerWithMoreShards),
                links.completionsOfAShard(MessageMemory.none()));
    }

    private static Config config(Map<String, String> flags) {
        return AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), flags);
    }
}
