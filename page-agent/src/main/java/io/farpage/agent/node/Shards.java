package io.farpage.agent.node;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.control.CloseStack;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.link.LinkShard;
import io.farpage.agent.control.link.ShardRails;
import io.farpage.agent.data.shard.MessageChannel;
import io.farpage.agent.data.shard.MessageMemory;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.config.Config;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/** The threads that move pages, {@code shard-0} and on, each with completion queues and header frames of its own. */
final class Shards implements AutoCloseable {
    /**
     * Queue pairs that a link may offer at once on several devices, until one of them is chosen. Those beyond carry no
     * messages.
     */
    private static final int OFFERED = 4;

    private final CloseStack open = new CloseStack();
    private final List<LinkShard> all = new ArrayList<>();

    /**
     * @param cpus that their threads are bound to: one for each shard
     * @param noticed called, on a shard's thread, when that shard has a notice
     * @throws IllegalArgumentException if the pool has no room for the headers of peers
     */
    Shards(Config config, List<OptionalInt> cpus, PagePool pool, Transports transports, Runnable noticed) {
        try {
            for (OptionalInt cpu : cpus) {
                MessageMemory messages = all.isEmpty() ? messages(config, pool) : MessageMemory.none();
                ShardRails rails = open.add(new ShardRails(
                        transports.devices(), AgentOptions.links(config).completionsOfAShard(messages)));
                ShardLoop loop = open.add(new ShardLoop(
                        new Shard(rails.rails(), headerFrames(config, pool), messages, System::nanoTime, noticed),
                        new ShardLoop.Options(
                                "shard-" + all.size(),
                                config.get(AgentKeys.SHARD_IDLE),
                                config.get(AgentKeys.SHARD_SPIN),
                                cpu,
                                AgentOptions.shardScheduling(config))));
                all.add(new LinkShard(loop, rails));
            }
        } catch (RuntimeException e) {
            open.closeAfter(e);
            throw e;
        }
    }

    /** The first shard exchanges the messages of the node. */
    private static MessageMemory messages(Config config, PagePool pool) {
        int peers = config.get(AgentKeys.COHERENCE_PEERS);
        if (peers == 0) {
            return MessageMemory.none();
        }
        long bytes = (long) OFFERED * AgentOptions.links(config).queuePairsOfAShard() * MessageChannel.HEADER_BYTES;
        int first = pool.stagingFrames().allocateRun(Math.ceilDiv(Math.toIntExact(bytes), pool.frameBytes()));
        if (first == FrameAllocator.NONE) {
            throw new IllegalArgumentException(
                    ("pool.staging of %d bytes has no room for the first messages of link.max %d peers; raise it, or"
                                    + " set coherence.peers to 0")
                            .formatted(config.get(AgentKeys.POOL_STAGING), config.get(AgentKeys.LINK_MAX)));
        }
        return new MessageMemory(pool.staging().asSlice(pool.offset(first), bytes), pool, peers);
    }

    private static MemorySegment headerFrames(Config config, PagePool pool) {
        long bytes = (long) AgentOptions.links(config).queuePairsOfAShard() * PoolHeader.BYTES;
        int frames = Math.ceilDiv(Math.toIntExact(bytes), pool.frameBytes());
        if (2L * frames * config.get(AgentKeys.SHARD_COUNT)
                > pool.stagingFrames().capacity()) {
            throw new IllegalArgumentException(
                    ("pool.staging of %d bytes has too little room beside the pool headers of link.max %d peers at each"
                                    + " of shard.count %d shards; raise it")
                            .formatted(
                                    config.get(AgentKeys.POOL_STAGING),
                                    config.get(AgentKeys.LINK_MAX),
                                    config.get(AgentKeys.SHARD_COUNT)));
        }
        int first = pool.stagingFrames().allocateRun(frames);
        return pool.staging().asSlice(pool.offset(first), bytes);
    }

    void start() {
        loops().forEach(ShardLoop::start);
    }

    /** Whether no thread runs and every queue pair is destroyed. */
    boolean haveStopped() {
        return loops().stream().noneMatch(loop -> loop.thread().isAlive())
                && loops().stream().allMatch(ShardLoop::isClean);
    }

    /** In the order of their numbers. */
    List<LinkShard> all() {
        return List.copyOf(all);
    }

    List<ShardLoop> loops() {
        return all.stream().map(LinkShard::loop).toList();
    }

    /** Stops each thread, and then destroys its completion queues. */
    @Override
    public void close() {
        open.close();
    }
}
