package io.farpage.agent.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.shard.MessageMemory;
import io.farpage.verbs.ibverbs.IbverbsProvider;
import io.farpage.verbs.soft.SoftProvider;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class QueuePairMemoryTest {
    private static final long GIB = 1L << 30;

    private static QueuePairMemory memory(Map<String, String> settings, long permitted) {
        Map<String, String> all = new HashMap<>(Map.of("api.listen", "127.0.0.1:0"));
        all.putAll(settings);
        return QueuePairMemory.of(AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), all), permitted);
    }

    @Test
    void shouldCountEveryQueuePairOfEveryShard() {
        Map<String, String> settings = Map.of("link.max", "100", "shard.count", "4");
        var options = AgentOptions.queuePairs(AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), settings));
        var withMessages = MessageMemory.enlarged(options);
        // The first of four shards exchanges messages.
        long soft = SoftProvider.nativeBytes(withMessages) + 3 * SoftProvider.nativeBytes(options);
        long rdma = IbverbsProvider.nativeBytes(withMessages) + 3 * IbverbsProvider.nativeBytes(options);

        // A link may be tried over RDMA while it goes over TCP, eight at once.
        assertEquals(108 * (soft + rdma), memory(settings, GIB).needed());
        assertEquals(
                108 * soft,
                memory(Map.of("link.max", "100", "shard.count", "4", "transport.mode", "tcp"), GIB)
                        .needed());
        assertEquals(
                108 * rdma,
                memory(Map.of("link.max", "100", "shard.count", "4", "transport.mode", "rdma"), GIB)
                        .needed());
    }

    @Test
    void shouldNeedNothingForMessagesWhenThereAreNone() {
        Map<String, String> settings = Map.of("link.max", "100", "transport.mode", "tcp", "coherence.peers", "0");
        var options = AgentOptions.queuePairs(AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), settings));
        assertEquals(
                108 * SoftProvider.nativeBytes(options), memory(settings, GIB).needed());
    }

    @Test
    void shouldBeContentWithTheDefaults() {
        assertEquals(Optional.empty(), memory(Map.of(), GIB).shortage());
        assertEquals(
                Optional.empty(),
                memory(Map.of("link.max", "1024", "shard.count", "4"), GIB).shortage());
    }

    @Test
    void shouldNameKeysAndFlagOfAConfigurationThatCouldReachTheLimit() {
        String shortage = memory(Map.of("link.max", "1024", "shard.count", "4", "rdma.max_send_wr", "4096"), GIB)
                .shortage()
                .orElse("none");

        assertTrue(
                shortage.startsWith("link.max 1024 peers at each of shard.count 4 shards with rdma.max_send_wr 4096"),
                shortage);
        assertTrue(shortage.contains("-XX:MaxDirectMemorySize permits 1024 MiB"), shortage);
    }

    @Test
    void shouldSufficeWithTheFlagThatItNames() {
        QueuePairMemory tight = new QueuePairMemory("links", 3 << 20, 4 << 20);
        QueuePairMemory little = new QueuePairMemory("links", (3 << 20) + 1, 4 << 20);

        assertEquals(Optional.empty(), tight.shortage());
        assertTrue(little.shortage().isPresent());
        assertEquals("-XX:MaxDirectMemorySize=8m", little.flag());
        assertEquals(Optional.empty(), new QueuePairMemory("links", (3 << 20) + 1, 8 << 20).shortage());
    }
}
