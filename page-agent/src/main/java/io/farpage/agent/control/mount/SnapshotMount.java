package io.farpage.agent.control.mount;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.page.SpaceReader;
import io.farpage.agent.data.mount.FilePort;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Space;
import io.farpage.linux.Errno;
import io.farpage.linux.fuse.FuseAnswer;
import io.farpage.linux.fuse.FuseConnection;
import io.farpage.linux.fuse.FuseRequest;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One mounted file system: a directory with a read-only file for each snapshot. What a file is and has never changes.
 * So the kernel keeps what it learns, and asks for no page that is in its page cache.
 *
 * <p>A request that waits for the coordinator or a home has a virtual thread of its own. What the agent has not
 * answered when it ends, the kernel asks the next agent.
 */
final class SnapshotMount implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(SnapshotMount.class);
    private static final int DIRECTORY_MODE = 0555;
    private static final Duration TICK = Duration.ofSeconds(2);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
    /** How long the kernel remembers a name that was looked up and not opened. */
    private static final Duration LOOKED = Duration.ofSeconds(10);
    /** How long the pages of a file that no process has open stay in the page cache. */
    private static final Duration KEPT = Duration.ofMinutes(1);

    private static final int MAX_INTERRUPTED = 256;

    private final FuseConnection fuse;
    private final FilePort port;
    private final MountHello hello;
    private final MountContext context;
    private final Runnable changed;
    private final Instant mountedAt = Instant.now();
    private final Map<Long, SnapshotFile> files = new ConcurrentHashMap<>();
    /** Ids of snapshots that the agent before had open, and this one has not opened yet. */
    private final Set<Long> adopted = ConcurrentHashMap.newKeySet();
    /** By the number of a READ that is under way: whether its caller still waits. */
    private final Map<Long, AtomicBoolean> reads = new ConcurrentHashMap<>();

    /** Numbers of requests that were interrupted and not passed on by then. The shard's thread. */
    private final SequencedSet<Long> interrupted = new LinkedHashSet<>();

    private final ExecutorService requests = Executors.newVirtualThreadPerTaskExecutor();
    private final ControlThread upkeep;
    private volatile boolean stopping;

    /**
     * @param fuse closed with this
     * @param changed runs when {@link #inUse} has changed, and before a file that was opened is read
     * @param ended runs when the file system is unmounted; must not wait
     */
    SnapshotMount(FuseConnection fuse, MountHello hello, MountContext context, Runnable changed, Runnable ended) {
        this.fuse = fuse;
        this.hello = hello;
        this.context = context;
        this.changed = changed;
        port = new FilePort(fuse, this::accept, ended);
        adopted.addAll(hello.open());
        upkeep = ControlThread.ofPlatform(
                "snapshot-files", new ControlThread.Pauses(Duration.ZERO, TICK, CLOSE_TIMEOUT), this::step);
    }

    void start() {
        serve();
        upkeep.start();
    }

    /** As {@link #start}; the test is the thread that runs {@link #step}. */
    void serve() {
        context.shard().serve(port);
    }

    /** Answers a request, now or later. The shard's thread. */
    private void accept(FuseRequest request) {
        switch (request.operation()) {
            case FuseRequest.INIT -> begin(request);
            case FuseRequest.INTERRUPT -> interrupt(request.interrupted());
            case FuseRequest.OPENDIR -> fuse.answer(request, FuseAnswer.openedDirectory());
            case FuseRequest.RELEASEDIR, FuseRequest.DESTROY -> fuse.answer(request, new byte[0]);
            case FuseRequest.STATFS -> fuse.answer(request, FuseAnswer.statfs());
            case FuseRequest.READ -> {
                reads.put(request.unique(), new AtomicBoolean(!interrupted.remove(request.unique())));
                requests.execute(() -> run(request));
            }
            default -> requests.execute(() -> run(request));
        }
    }

    /** A caller is interrupted. The kernel says so once, also of a READ that the data plane may pass on later. */
    private void interrupt(long unique) {
        AtomicBoolean waits = reads.get(unique);
        if (waits != null) {
            waits.set(false);
        } else {
            interrupted.add(unique);
            if (interrupted.size() > MAX_INTERRUPTED) {
                interrupted.removeFirst();
            }
        }
    }

    private void begin(FuseRequest request) {
        try {
            fuse.answer(request, FuseAnswer.init(request.offer(), hello.readahead()));
        } catch (IllegalArgumentException e) {
            log.error("{} is not served: {}", hello.directory(), e.getMessage());
            fuse.fail(request, Errno.EPROTO);
        }
    }

    private void run(FuseRequest request) {
        try {
            answer(request);
        } catch (CoordinatorRefusedException e) {
            log.warn("{}: refused: {}", hello.directory(), e.getMessage());
            fuse.fail(
                    request, e.isNotFound() || request.operation() == FuseRequest.LOOKUP ? Errno.ENOENT : Errno.EACCES);
        } catch (CoordinatorException e) {
            log.warn("{}: the coordinator does not answer: {}", hello.directory(), e.getMessage());
            fuse.fail(request, Errno.EIO);
        } catch (IOException e) {
            log.error("{}: a read has failed: {}", hello.directory(), e.getMessage());
            fuse.fail(request, Errno.EIO);
        } catch (InterruptedException e) {
            // The agent ends, and the next one is asked.
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            log.error("{}: operation {} has failed", hello.directory(), request.operation(), e);
            fuse.fail(request, Errno.EIO);
        } finally {
            reads.remove(request.unique());
        }
    }

    private void answer(FuseRequest request) throws CoordinatorException, IOException, InterruptedException {
        switch (request.operation()) {
            case FuseRequest.LOOKUP -> lookUp(request);
            case FuseRequest.FORGET, FuseRequest.BATCH_FORGET ->
                request.forgotten().forEach(this::forget);
            case FuseRequest.GETATTR -> {
                Optional<FuseAnswer.Attributes> found = request.node() == FuseRequest.ROOT
                        ? Optional.of(directory())
                        : file(request.node()).map(file -> attributes(file.space()));
                answerIfPresent(request, found.map(FuseAnswer::attributes));
            }
            case FuseRequest.OPEN -> {
                Optional<SnapshotFile> file = file(request.node());
                answerIfPresent(
                        request,
                        file.isPresent() && open(file.get()) ? Optional.of(FuseAnswer.opened()) : Optional.empty());
            }
            case FuseRequest.READ -> read(request);
            case FuseRequest.RELEASE -> {
                file(request.node()).ifPresent(SnapshotFile::close);
                fuse.answer(request, new byte[0]);
            }
            case FuseRequest.READDIR ->
                fuse.answer(request, FuseAnswer.directory(entries(), request.offset(), request.size()));
            default -> fuse.fail(request, Errno.ENOSYS);
        }
    }

    /** ESTALE: the kernel looks the name up again. */
    private void answerIfPresent(FuseRequest request, Optional<byte[]> answer) {
        answer.ifPresentOrElse(data -> fuse.answer(request, data), () -> fuse.fail(request, Errno.ESTALE));
    }

    private void lookUp(FuseRequest request) throws CoordinatorException {
        Optional<Space> space =
                request.node() == FuseRequest.ROOT ? context.spaces().find(request.name()) : Optional.empty();
        if (space.isEmpty()) {
            fuse.fail(request, Errno.ENOENT);
            return;
        }
        SnapshotFile file = lookUp(space.get());
        if (!fuse.answer(request, FuseAnswer.entry(attributes(space.get())))) {
            forget(file, 1); // its caller was interrupted
        }
    }

    /** A file that is about to be forgotten is replaced by another. */
    private SnapshotFile lookUp(Space space) {
        while (true) {
            SnapshotFile file = files.computeIfAbsent(space.id(), _ -> newFile(space));
            if (file.lookUp()) {
                return file;
            }
            files.remove(space.id(), file);
        }
    }

    private SnapshotFile newFile(Space space) {
        return new SnapshotFile(space, context.spaces()::open, port, context.clock());
    }

    private void forget(FuseRequest.Forgotten gone) {
        Optional.ofNullable(files.get(SnapshotFile.space(gone.node()))).ifPresent(file -> forget(file, gone.lookups()));
    }

    private void forget(SnapshotFile file, long lookups) {
        if (file.forget(lookups)) {
            files.remove(file.space().id(), file);
            changed.run();
        }
    }

    /** The file of a node: also one that was looked up while another agent answered. */
    private Optional<SnapshotFile> file(long node) throws CoordinatorException {
        long id = SnapshotFile.space(node);
        SnapshotFile known = files.get(id);
        if (known != null) {
            return Optional.of(known);
        }
        return context.spaces().find(id).map(space -> files.computeIfAbsent(id, _ -> newFile(space)));
    }

    private boolean open(SnapshotFile file) throws CoordinatorException, InterruptedException {
        boolean isFirst = !file.isInUse();
        if (!file.open()) {
            return false;
        }
        if (isFirst) {
            changed.run();
            file.reader().ifPresent(reader -> prefetch(file.space(), reader));
        }
        return true;
    }

    private void prefetch(Space space, SpaceReader reader) {
        Prefetch prefetch = new Prefetch(
                reader, (offset, data) -> !stopping && fuse.store(SnapshotFile.node(space.id()), offset, data) >= 0);
        // A notice to the kernel may wait for an answer, which a virtual thread must not do.
        Thread.ofPlatform()
                .daemon()
                .name("prefetch-" + space.name())
                .start(() -> context.counters().prefetched(prefetch.run()));
    }

    private void read(FuseRequest request) throws CoordinatorException, IOException, InterruptedException {
        Optional<SnapshotFile> file = file(request.node());
        if (file.isEmpty()) {
            fuse.fail(request, Errno.EIO);
            return;
        }
        AtomicBoolean waits = reads.getOrDefault(request.unique(), new AtomicBoolean());
        Optional<byte[]> data = file.get().read(request.offset(), request.size(), () -> waits.get() && !stopping);
        if (data.isPresent()) {
            context.counters().read(data.get().length);
            fuse.answer(request, data.get());
        } else if (!stopping) {
            fuse.fail(request, Errno.EINTR);
        }
    }

    private FuseAnswer.Attributes directory() {
        return new FuseAnswer.Attributes(
                FuseRequest.ROOT, 0, mountedAt, true, DIRECTORY_MODE, hello.user(), hello.group());
    }

    private FuseAnswer.Attributes attributes(Space space) {
        return new FuseAnswer.Attributes(
                SnapshotFile.node(space.id()),
                space.contentBytes(),
                space.snapshot().orElse(space.createdAt()),
                false,
                hello.mode(),
                hello.user(),
                hello.group());
    }

    private List<FuseAnswer.Entry> entries() throws CoordinatorException {
        List<FuseAnswer.Entry> entries = new ArrayList<>();
        entries.add(new FuseAnswer.Entry(".", FuseRequest.ROOT, true));
        entries.add(new FuseAnswer.Entry("..", FuseRequest.ROOT, true));
        context.spaces()
                .all()
                .forEach(
                        space -> entries.add(new FuseAnswer.Entry(space.name(), SnapshotFile.node(space.id()), false)));
        return entries;
    }

    /** Ids of the snapshots that are in use, or that the agent before had open. */
    List<Long> inUse() {
        Set<Long> all = ConcurrentHashMap.newKeySet();
        all.addAll(adopted);
        files.values().stream()
                .filter(SnapshotFile::isInUse)
                .forEach(file -> all.add(file.space().id()));
        return all.stream().sorted().toList();
    }

    /** Adopts what the agent before had open, and lets the kernel forget what no process uses. */
    Duration step() throws CoordinatorException, InterruptedException {
        for (long id : List.copyOf(adopted)) {
            adopt(id);
        }
        for (SnapshotFile file : List.copyOf(files.values())) {
            if (file.isIdle(LOOKED, KEPT) || file.isDeleting()) {
                boolean isUnknown = fuse.forgetName(file.space().name()) == -Errno.ENOENT;
                if (isUnknown && !file.isInUse()) {
                    files.remove(file.space().id(), file);
                }
            }
        }
        return TICK;
    }

    private void adopt(long id) throws CoordinatorException, InterruptedException {
        try {
            Optional<SnapshotFile> file = file(SnapshotFile.node(id));
            if (file.isPresent()) {
                file.get().adopt();
            }
        } catch (CoordinatorRefusedException e) {
            log.warn("{}: snapshot {} was open and is not used again: {}", hello.directory(), id, e.getMessage());
        }
        adopted.remove(id);
        changed.run();
    }

    /** Ends without answering what waits. */
    @Override
    public void close() {
        stopping = true;
        upkeep.close();
        try {
            boolean isLeft = context.shard().leave(port);
            requests.shutdownNow();
            if (!isLeft || !requests.awaitTermination(CLOSE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
                // The descriptor stays open: its number must not be another file's while it is written to.
                log.warn("{}: requests did not end within {}", hello.directory(), CLOSE_TIMEOUT);
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        fuse.close();
        files.values().forEach(SnapshotFile::end);
    }
}
