package io.farpage.agent.control.pull;

import io.farpage.agent.data.shard.KeyUse;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.coordinator.model.ExtentEpoch;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of one extent on their way into this node's pool, in chunks. The shard's thread alone reads and changes
 * which chunks are left; other threads see whether all are copied, and since when none can be.
 */
final class Pull {
    /** No chunk. */
    static final int NONE = -1;

    private final Key key;
    private final Target target;
    private final KeyUse use;
    private final List<Source> sources;
    private final BitSet begun = new BitSet();
    private int next;
    private volatile int left;
    private int reader;
    private boolean stopped;
    private volatile boolean copied;
    private volatile long blockedSince;
    private volatile boolean blocked;

    /** @param extent in the epoch of the pull */
    record Key(long space, ExtentEpoch extent) {
        @Override
        public String toString() {
            return "pull of the extent at page %d of space %d in epoch %d"
                    .formatted(extent.firstPage(), space, extent.epoch());
        }
    }

    /**
     * A range of this node's exported frames.
     *
     * @param offset bytes from their start
     * @param length in bytes
     * @param chunk bytes of a chunk; the last one may be shorter
     */
    record Target(long offset, long length, int chunk) {
        boolean overlaps(long from, long bytes) {
            return offset < from + bytes && from < offset + length;
        }

        int chunks() {
            return Math.toIntExact(Math.ceilDiv(length, chunk));
        }

        int bytes(int number) {
            return (int) Math.min(chunk, length - (long) number * chunk);
        }
    }

    /**
     * A home to read from.
     *
     * @param link to the node; null if it is this one
     * @param pool of the home, as extents name it
     * @param offset of the extent from the start of its exported frames
     */
    record Source(@Nullable PeerLink link, long pool, long offset) {}

    /** @param use what the keys were granted for with which the sources are read */
    Pull(Key key, Target target, KeyUse use, List<Source> sources) {
        this.key = key;
        this.target = target;
        this.use = use;
        this.sources = List.copyOf(sources);
        left = target.chunks();
    }

    Key key() {
        return key;
    }

    Target target() {
        return target;
    }

    /** Bytes of a chunk, from the start of the extent. */
    long start(int chunk) {
        return (long) chunk * target.chunk();
    }

    /** The next chunk to copy, or {@link #NONE}. */
    int next() {
        int chunk = begun.nextClearBit(next);
        return chunk < target.chunks() ? chunk : NONE;
    }

    /** A home that has granted a chunk and whose link is up, or this node; null if there is none. */
    @Nullable
    Source readable(int chunk) {
        for (int i = 0; i < sources.size(); i++) {
            Source source = sources.get((reader + i) % sources.size());
            PeerLink link = source.link();
            if (link == null) {
                return source;
            }
            if (link.leadsTo(source.pool())
                    && link.isGranted(use, source.offset() + start(chunk), target.bytes(chunk))) {
                return source;
            }
        }
        return null;
    }

    void begin(int chunk) {
        begun.set(chunk);
        next = chunk + 1;
    }

    /** A chunk has not arrived: it is asked for again, from another home if there is one. */
    void failed(int chunk, long now) {
        begun.clear(chunk);
        next = Math.min(next, chunk);
        reader = (reader + 1) % sources.size();
        block(now);
    }

    /** No home can be read from. */
    void block(long now) {
        if (!blocked) {
            blockedSince = now;
            blocked = true;
        }
    }

    /** A chunk is in the pool. Returns whether it was the last one. */
    boolean arrived() {
        blocked = false;
        int now = left - 1;
        left = now;
        copied = now == 0;
        return copied;
    }

    /** Bytes that are not in the pool yet, to a chunk. Any thread. */
    long leftBytes() {
        return Math.min(target.length(), (long) left * target.chunk());
    }

    void stop() {
        stopped = true;
    }

    boolean isStopped() {
        return stopped;
    }

    /** Whether all bytes are in the pool. Any thread. */
    boolean isCopied() {
        return copied;
    }

    /**
     * Whether no chunk has arrived for {@code nanos}, although one was requested or no home could be asked. Any thread.
     */
    boolean isBlockedFor(long nanos, long now) {
        return blocked && now - blockedSince > nanos;
    }

    /** Why no chunk arrives, for people. Any thread. */
    String obstacle() {
        StringBuilder text = new StringBuilder("no page has come from");
        for (Source source : sources) {
            PeerLink link = source.link();
            if (link == null) {
                continue;
            }
            text.append(" '").append(link.peer()).append("' (");
            if (link.isUp()) {
                text.append("linked)");
            } else {
                text.append("no link").append(link.lastFailure().isEmpty() ? "" : ": " + link.lastFailure());
                text.append(')');
            }
        }
        return text.toString();
    }

    @Override
    public String toString() {
        return key.toString();
    }
}
