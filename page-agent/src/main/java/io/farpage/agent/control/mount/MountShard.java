package io.farpage.agent.control.mount;

import io.farpage.agent.control.LocalNode;
import io.farpage.agent.data.mount.FilePort;
import io.farpage.agent.data.mount.FileReads;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/** The shard on which mounted files are read. Any thread. */
public final class MountShard {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final ShardLoop shard;
    private final Fetcher fetcher;
    private final FileReads reads;

    /**
     * Adds itself to a shard that has not started yet.
     *
     * @param links the shard's side of the link to a node
     * @param depth transfers under way at once
     * @param deadline of one of them
     */
    public MountShard(LocalNode node, ShardLoop shard, Function<String, PeerLink> links, int depth, Duration deadline) {
        this.shard = shard;
        fetcher = shard.shard().newFetcher(depth, deadline.toNanos());
        reads = new FileReads(node.id(), node.pool(), fetcher, links);
        shard.submit(new ShardCommand.AddCycle(reads));
    }

    /** The transfers, for metrics. */
    public Fetcher fetcher() {
        return fetcher;
    }

    /** Reads that the shard has answered. */
    long reads() {
        return reads.reads().get();
    }

    /** Bytes of these. */
    long bytes() {
        return reads.bytes().get();
    }

    /** Begins to answer the requests of a file system. */
    void serve(FilePort port) {
        shard.submit(new ShardCommand.Run(() -> reads.add(port)));
    }

    /** Answers no request of a file system from now on. Returns false if the shard does not say so in time. */
    boolean leave(FilePort port) throws InterruptedException {
        CompletableFuture<Void> done = new CompletableFuture<>();
        shard.submit(new ShardCommand.Run(() -> reads.remove(port, done)));
        try {
            done.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }
}
