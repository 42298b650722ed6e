package io.farpage.agent.data.mount;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.Zeros;
import io.farpage.agent.data.shard.Counter;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.KeyUse;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Priority;
import io.farpage.linux.Epoll;
import io.farpage.linux.fuse.FuseConnection;
import io.farpage.linux.fuse.FuseRequest;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Answers reads of mounted files: fetches the pages to staging frames and gives these to the kernel. A read that cannot
 * be answered at once (no frame is free, a link is down, a page is lost) is passed on to the control plane, as is every
 * other request; it tries again, or finds out what is wrong.
 *
 * <p>The shard's thread only, but for {@link #toString}.
 */
public final class FileReads implements DutyCycle {
    /** The most file systems. */
    public static final int MAX_PORTS = 8;

    /** Requests of one file system that are read in a duty cycle. */
    private static final int MAX_REQUESTS = 16;

    private final String node;
    private final PagePool pool;
    private final Fetcher fetcher;
    private final Function<String, PeerLink> links;
    private final List<FilePort> ports = new ArrayList<>();
    private final Epoll ready = new Epoll(MAX_PORTS);
    /** By transfer: the read that it is for. */
    private final @Nullable Read[] transfers;

    private final Read[] free;
    private int freeCount;
    private final Counter reads = new Counter();
    private final Counter bytes = new Counter();

    /** A READ of the kernel that is under way. */
    private static final class Read {
        private @Nullable FilePort port;
        private long unique;
        private long file;
        private long offset;
        private int size;
        /** Bytes up to the end of the file. */
        private int length;

        private int frame;
        private int transfers;
        private boolean failed;
    }

    /**
     * @param node this node
     * @param fetcher for this alone
     * @param links the shard's side of the link to a node
     */
    public FileReads(String node, PagePool pool, Fetcher fetcher, Function<String, PeerLink> links) {
        this.node = node;
        this.pool = pool;
        this.fetcher = fetcher;
        this.links = links;
        transfers = new Read[fetcher.capacity()];
        free = new Read[fetcher.capacity()];
        for (int i = 0; i < free.length; i++) {
            free[i] = new Read();
        }
        freeCount = free.length;
    }

    /** Serves a file system. */
    public void add(FilePort port) {
        ready.add(port.fuse().fd(), Epoll.EPOLLIN);
        ports.add(port);
    }

    /** Serves a file system no longer. Completes {@code done} when no read of it is under way. */
    public void remove(FilePort port, CompletableFuture<Void> done) {
        if (ports.remove(port)) {
            ready.remove(port.fuse().fd());
        }
        port.remove(done);
    }

    /** Reads that were answered. Any thread. */
    public Counter reads() {
        return reads;
    }

    /** Bytes of these. Any thread. */
    public Counter bytes() {
        return bytes;
    }

    @Override
    public int doWork() {
        int work = finishTransfers();
        for (int i = ports.size() - 1; i >= 0; i--) {
            work += accept(ports.get(i));
        }
        return work;
    }

    @Override
    public int fileDescriptor() {
        return ports.isEmpty() ? -1 : ready.fd();
    }

    /** Without a file system there is no work. */
    @Override
    public boolean isQuiescent() {
        return ports.isEmpty();
    }

    /** A request that cannot be handled does not end the others. */
    @Override
    public boolean failed(Throwable cause) {
        return true;
    }

    private int accept(FilePort port) {
        FuseConnection fuse = port.fuse();
        int work = 0;
        while (work < MAX_REQUESTS) {
            int operation = fuse.read();
            if (operation == FuseConnection.NONE) {
                if (fuse.hasEnded()) {
                    ports.remove(port);
                    ready.remove(fuse.fd());
                    port.noticeEnd();
                }
                return work;
            }
            work++;
            ReadableFile file = operation == FuseRequest.READ ? port.file(fuse.node()) : null;
            if (file == null || !begin(port, file)) {
                port.pass(fuse.request());
            }
        }
        return work;
    }

    /** Begins a READ. Returns false if something is short of; nothing of it is under way then. */
    private boolean begin(FilePort port, ReadableFile file) {
        FuseConnection fuse = port.fuse();
        long offset = fuse.offset();
        int length = (int) Math.min(fuse.size(), Math.max(0, file.size() - offset));
        if (length == 0 || freeCount == 0) {
            return false;
        }
        int frame = pool.stagingFrames().allocateRun(frames(length));
        if (frame == FrameAllocator.NONE) {
            return false;
        }
        Read read = free[--freeCount];
        read.port = port;
        read.unique = fuse.unique();
        read.file = file.node();
        read.offset = offset;
        read.size = fuse.size();
        read.length = length;
        read.frame = frame;
        read.failed = false;
        // Held until all parts have begun, so that the first does not finish the read.
        read.transfers = 1;
        port.begin();
        SpaceMap map = file.map().get();
        long end = offset + length;
        for (long at = offset; at < end && !read.failed; ) {
            long page = at / map.pageSize();
            long run = file.runs().end(map, page, Math.ceilDiv(end, map.pageSize())) * map.pageSize();
            int part = (int) (Math.min(end, run) - at);
            long to = pool.offset(frame) + at - offset;
            if (file.runs().isZeros(page)) {
                MemorySegment.copy(Zeros.segment(), 0, pool.staging(), to, part);
            } else {
                read.failed = !fetch(read, map, at, part, to);
            }
            at += part;
        }
        endTransfer(read);
        return true;
    }

    /**
     * Begins to fetch bytes of one extent. Returns false if that is not possible now.
     *
     * @param to where they go within the staging frames
     */
    private boolean fetch(Read read, SpaceMap map, long offset, int length, long to) {
        long page = offset / map.pageSize();
        long within = offset % map.pageSize();
        int extent = map.extent(page);
        if (map.isLost(extent)) {
            return false;
        }
        int copies = map.copies(extent);
        int first = map.firstReader(extent, node);
        for (int i = 0; i < copies; i++) {
            int copy = (first + i) % copies;
            String home = map.node(extent, copy);
            long from = map.offset(extent, copy, page) + within;
            long incarnation = map.incarnation(extent, copy);
            if (home.equals(node)) {
                if (incarnation == pool.id()) {
                    MemorySegment.copy(pool.exported(), from, pool.staging(), to, length);
                    return true;
                }
                continue;
            }
            PeerLink link = links.apply(home);
            if (link.takes(KeyUse.ATTACHMENT, incarnation, from, length)) {
                int slot = fetcher.readFailingFast(
                        Priority.DEMAND, link, incarnation, from, length, pool.stagingAddress() + to);
                if (slot != Fetcher.NONE) {
                    transfers[slot] = read;
                    read.transfers++;
                }
                return slot != Fetcher.NONE;
            }
        }
        return false;
    }

    private int finishTransfers() {
        int work = 0;
        for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
            Read read = Objects.requireNonNull(transfers[slot]);
            transfers[slot] = null;
            read.failed |= fetcher.status(slot) != FetchStatus.OK;
            fetcher.release(slot);
            endTransfer(read);
            work++;
        }
        return work;
    }

    private void endTransfer(Read read) {
        if (--read.transfers > 0) {
            return;
        }
        FilePort port = Objects.requireNonNull(read.port);
        if (read.failed) {
            port.pass(FuseRequest.read(read.unique, read.file, read.offset, read.size));
        } else {
            port.fuse().answer(read.unique, pool.stagingAddress() + pool.offset(read.frame), read.length);
            reads.add(1);
            bytes.add(read.length);
        }
        pool.stagingFrames().freeRun(read.frame, frames(read.length));
        read.port = null;
        free[freeCount++] = read;
        port.end();
    }

    private int frames(int length) {
        return Math.ceilDiv(length, pool.frameBytes());
    }

    @Override
    public String toString() {
        return "the mounted snapshots of this node";
    }
}
