package io.farpage.agent.control.page;

import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.pool.PagePool;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Puts and gets single pages. Any thread may call it; each call waits for its page. */
public final class PageTool {
    private static final Duration SLACK = Duration.ofSeconds(5);

    private final String node;
    private final PagePool pool;
    private final ShardLoop shard;
    private final Fetcher fetcher;
    private final PageCycle cycle;
    private final Duration deadline;
    private final Function<String, PeerLink> links;

    /**
     * Adds itself to a shard that has not started yet.
     *
     * @param links the shard's side of the link to a node
     * @param depth transfers that may be under way at once
     * @param deadline of one of them
     */
    public PageTool(LocalNode node, ShardLoop shard, Function<String, PeerLink> links, int depth, Duration deadline) {
        this.node = node.id();
        this.pool = node.pool();
        this.shard = shard;
        this.fetcher = shard.shard().newFetcher(depth, deadline.toNanos());
        this.cycle = new PageCycle(fetcher, pool);
        this.deadline = deadline;
        this.links = links;
        shard.submit(new ShardCommand.AddCycle(cycle));
    }

    /** The transfers of this tool, for metrics. */
    public Fetcher fetcher() {
        return fetcher;
    }

    /**
     * Reads a page, and ends the use of its space when the transfer has ended.
     *
     * @throws IndexOutOfBoundsException if the space has no such page
     * @throws PageException if the page could not be read
     */
    public byte[] get(SpaceUse space, long page) throws PageException, InterruptedException {
        requirePage(space, page);
        int pageSize = space.map().pageSize();
        return read(space, page * pageSize, pageSize);
    }

    /** As {@link #get}, of bytes of one extent, also of pages behind those of the guest. */
    byte[] read(SpaceUse space, long offset, int length) throws PageException, InterruptedException {
        return run(space, offset, length, null);
    }

    /**
     * Writes a page, and ends the use of its space when the transfer has ended.
     *
     * @param data exactly one page
     * @throws IllegalArgumentException if the length is not that of a page
     * @throws IndexOutOfBoundsException if the space has no such page
     * @throws PageException if the page could not be written
     * @throws CoordinatorException if the coordinator could not be told that this node writes; nothing was written
     */
    public void put(SpaceUse space, long page, byte[] data)
            throws PageException, CoordinatorException, InterruptedException {
        requirePage(space, page);
        boolean isReady = false;
        try {
            SpaceMap map = space.map();
            if (data.length != map.pageSize()) {
                throw new IllegalArgumentException(
                        "%d bytes, but a page of space %s has %d".formatted(data.length, map.name(), map.pageSize()));
            }
            space.write();
            isReady = true;
        } finally {
            if (!isReady) {
                space.close();
            }
        }
        write(space, page, data);
    }

    /**
     * As {@link #put}, of an exclusive use and of pages of one extent, also of pages behind those of the guest. Pages
     * of a thin space get room first.
     */
    void write(SpaceUse space, long first, byte[] data) throws PageException, InterruptedException {
        boolean isReady = false;
        try {
            space.allocate(first);
            isReady = true;
        } catch (CoordinatorException e) {
            throw new PageException(
                    FetchStatus.REFUSED,
                    "page %d of space %s has no room yet, and gets none: %s"
                            .formatted(first, space.map().name(), e.getMessage()));
        } finally {
            if (!isReady) {
                space.close();
            }
        }
        run(space, first * space.map().pageSize(), data.length, data);
    }

    private static void requirePage(SpaceUse space, long page) {
        try {
            space.map().requirePage(page);
        } catch (IndexOutOfBoundsException e) {
            space.close();
            throw e;
        }
    }

    private byte[] run(SpaceUse use, long offset, int length, byte @Nullable [] data)
            throws PageException, InterruptedException {
        SharedUse held = new SharedUse(use);
        try {
            SpaceMap space = use.map();
            try {
                return run(held, space, offset, length, data);
            } catch (PageException e) {
                SpaceMap latest = use.map();
                if (latest.revision() == space.revision()) {
                    throw e;
                }
                return run(held, latest, offset, length, data); // the homes have changed meanwhile
            }
        } finally {
            held.release();
        }
    }

    private byte[] run(SharedUse held, SpaceMap space, long offset, int length, byte @Nullable [] data)
            throws PageException, InterruptedException {
        long page = offset / space.pageSize();
        int extent = space.extent(page);
        if (space.isLost(extent)) {
            throw new PageException(
                    FetchStatus.PAGE_LOST,
                    "page %d of space %s was on %s, which has restarted or left; its memory is gone"
                            .formatted(page, space.name(), space.node(extent)));
        }
        if (data != null) {
            if (!space.isAllocated(extent)) {
                throw new PageException(
                        FetchStatus.REFUSED, "page %d of clone %s has no home yet".formatted(page, space.name()));
            }
            return write(held, space, offset, data);
        }
        return space.isReadable(extent) ? read(held, space, offset, length) : new byte[length];
    }

    /** Reads from one home; from the next one if that fails. Homes whose links are up come first. */
    private byte[] read(SharedUse held, SpaceMap space, long offset, int length)
            throws PageException, InterruptedException {
        int extent = space.extent(offset / space.pageSize());
        List<Integer> copies = IntStream.range(0, space.copies(extent))
                .boxed()
                .sorted(Comparator.comparing(copy -> !isNear(space.node(extent, copy))))
                .toList();
        PageException failed = null;
        for (int copy : copies) {
            try {
                return finish(start(held, space, offset, copy, length, null));
            } catch (PageException e) {
                failed = e;
            }
        }
        throw Objects.requireNonNull(failed);
    }

    private boolean isNear(String home) {
        return home.equals(node) || links.apply(home).isUp();
    }

    /** Writes to all homes; one whose memory is gone is left out if there are others. */
    private byte[] write(SharedUse held, SpaceMap space, long offset, byte[] data)
            throws PageException, InterruptedException {
        int extent = space.extent(offset / space.pageSize());
        List<PageRequest> started = new ArrayList<>();
        for (int copy = 0; copy < space.copies(extent); copy++) {
            started.add(start(held, space, offset, copy, data.length, data));
        }
        PageException lost = null;
        int written = 0;
        for (PageRequest request : started) {
            try {
                finish(request);
                written++;
            } catch (PageException e) {
                if (e.status() != FetchStatus.PAGE_LOST) {
                    throw e;
                }
                lost = e;
            }
        }
        if (written == 0) {
            throw Objects.requireNonNull(lost);
        }
        return new byte[0];
    }

    private PageRequest start(SharedUse held, SpaceMap space, long from, int copy, int length, byte @Nullable [] data) {
        long page = from / space.pageSize();
        int extent = space.extent(page);
        String home = space.node(extent, copy);
        long offset = space.offset(extent, copy, page) + from % space.pageSize();
        PageRequest request = new PageRequest(
                links.apply(home), new PageRequest.Place(home, space.incarnation(extent, copy), offset), length, data);
        if (home.equals(node)) {
            try {
                request.result().complete(local(space.incarnation(extent, copy), offset, length, data));
            } catch (PageException e) {
                request.result().completeExceptionally(e);
            }
            return request;
        }
        // The caller may time out before the transfer ends. The space stays in use until it does.
        held.retain();
        var _ = request.result().whenComplete((_, _) -> held.release());
        cycle.submit(request);
        shard.wake();
        return request;
    }

    /** A use of a space that ends when the request and all its transfers have ended. */
    private static final class SharedUse {
        private final SpaceUse use;
        private final AtomicInteger holders = new AtomicInteger(1);

        SharedUse(SpaceUse use) {
            this.use = use;
        }

        void retain() {
            holders.incrementAndGet();
        }

        void release() {
            if (holders.decrementAndGet() == 0) {
                use.close();
            }
        }
    }

    private byte[] finish(PageRequest request) throws PageException, InterruptedException {
        try {
            return request.result().get(deadline.plus(SLACK).toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof PageException why) {
                throw why;
            }
            throw new IllegalStateException(e);
        } catch (TimeoutException e) {
            throw new PageException(FetchStatus.DEADLINE, request + ": the agent is overloaded or shutting down");
        }
    }

    private byte[] local(long homePool, long offset, int length, byte @Nullable [] data) throws PageException {
        if (homePool != pool.id()) {
            throw new PageException(
                    FetchStatus.PAGE_LOST, "this node has restarted since it was given this page; its memory is gone");
        }
        MemorySegment at = pool.exported().asSlice(offset, length);
        if (data == null) {
            return at.toArray(ValueLayout.JAVA_BYTE);
        }
        MemorySegment.copy(data, 0, at, ValueLayout.JAVA_BYTE, 0, data.length);
        return new byte[0];
    }
}
