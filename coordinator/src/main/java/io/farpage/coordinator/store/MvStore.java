package io.farpage.coordinator.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStoreException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The store in one file of H2's MVStore, with a small file of seals beside it. All file access is on a thread of its
 * own, because interrupting a thread within a file channel closes the channel, and requests run on threads that others
 * may interrupt.
 *
 * <p>After a failed write MVStore refuses every operation, so the file is opened again; its contents then show whether
 * the commit took effect.
 */
public final class MvStore implements Store {

    /** Name of the file within the data directory. */
    public static final String FILE = "coordinator.mv.db";

    /** Name of the file of seals within the data directory. */
    public static final String SEALS = "coordinator.seals";

    private static final Logger LOG = LoggerFactory.getLogger(MvStore.class);
    private static final int COMPACT_ON_CLOSE_MILLIS = 100;

    private final Path file;
    private final String scheme;
    private final Compaction compaction;
    private final SealFile seals;
    private final ExecutorService writer;

    /** Used by the writer thread; empty if the file could not be opened again. */
    private Optional<MvFile> open;

    private volatile long revision;
    private int commits;

    private MvStore(Path file, String scheme, Compaction compaction, SealFile seals) {
        this.file = file;
        this.scheme = scheme;
        this.compaction = compaction;
        this.seals = seals;
        this.open = Optional.of(MvFile.open(file, scheme, seals));
        this.revision = open.get().seal().revision();
        this.writer = Executors.newSingleThreadExecutor(
                Thread.ofPlatform().daemon().name("store").factory());
    }

    /**
     * Opens the store of a data directory, making both if need be.
     *
     * @throws StoreException if the directory cannot be used, another process has the file open, the file is damaged or
     *     lost commits, or it is of another format version
     */
    public static MvStore open(Path directory) {
        return open(directory, "", Compaction.STANDARD);
    }

    static MvStore open(Path directory, String scheme, Compaction compaction) {
        Path file = directory.resolve(FILE).toAbsolutePath();
        try {
            Permissions.makeDirectory(directory.toAbsolutePath());
        } catch (IOException e) {
            throw new StoreException(
                    "data directory %s cannot be made: %s; set store.directory to one that can be written"
                            .formatted(directory, e.getMessage()),
                    e);
        }
        if (!Files.isWritable(directory)) {
            throw new StoreException(
                    "data directory %s cannot be written; set store.directory to one that can".formatted(directory));
        }
        SealFile seals = SealFile.open(file.resolveSibling(SEALS));
        try {
            Permissions.makePrivate(file);
            return new MvStore(file, scheme, compaction, seals);
        } catch (IOException e) {
            seals.close();
            throw new StoreException("store file %s cannot be made: %s".formatted(file, e.getMessage()), e);
        } catch (RuntimeException e) {
            seals.close();
            throw e;
        }
    }

    @Override
    public Map<String, String> rows(Table table) {
        return onWriter(() -> {
            Map<String, String> rows = new TreeMap<>();
            MVMap<String, String> map = opened().map(table);
            for (String key : map.keySet()) {
                rows.put(key, String.valueOf(map.get(key)));
            }
            return rows;
        });
    }

    @Override
    public long revision() {
        return revision;
    }

    @Override
    public void commit(List<Change> changes) {
        onWriter(() -> {
            long next = revision + 1;
            try {
                opened().commit(Optional.of(changes));
                seals.write(opened().seal());
            } catch (RuntimeException | Error e) {
                // Rows that are not committed must not be left for the next commit.
                if (!tookEffect(next, e)) {
                    throw e;
                }
                LOG.warn("commit {} took effect although the store reported: {}", next, e.getMessage());
            }
            revision = next;
            if (++commits % compaction.everyCommits() == 0) {
                compact();
            }
            return true;
        });
    }

    /**
     * Reads from the disk whether a commit that failed took effect nevertheless. False also if the disk cannot be read
     * now.
     */
    private boolean tookEffect(long commit, Throwable failure) {
        try {
            reopen();
            return revision == commit;
        } catch (StoreException closed) {
            failure.addSuppressed(closed);
            return false;
        }
    }

    /** The commit before is durable already, so a failure here must not be taken for one of the commit. */
    private void compact() {
        try {
            opened().compact(compaction);
        } catch (RuntimeException e) {
            LOG.warn("store file {} could not be compacted and is opened again: {}", file, e.getMessage());
            try {
                reopen();
            } catch (StoreException closed) {
                LOG.error("{}", closed.getMessage());
            }
        }
    }

    @Override
    public void recover() {
        onWriter(() -> {
            if (open.isEmpty()) {
                reopen();
            }
            return true;
        });
    }

    private MvFile opened() {
        return open.orElseThrow(() -> new StoreException(
                "store file %s is closed since a write failed; it is opened again with the next change"
                        .formatted(file)));
    }

    /** Discards what MVStore holds in memory and reads the file again. */
    private void reopen() {
        open.ifPresent(MvFile::abandon);
        open = Optional.empty();
        MvFile again = MvFile.open(file, scheme, seals);
        open = Optional.of(again);
        revision = again.seal().revision();
    }

    /** Runs a task on the writer thread and waits for its end even when interrupted, for a change half done is none. */
    private <T> T onWriter(Callable<T> task) {
        Future<T> future = writer.submit(task);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return future.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof StoreException cause) {
                throw new StoreException(String.valueOf(cause.getMessage()), e);
            }
            if (e.getCause() instanceof MVStoreException cause) {
                throw MvFile.explained(file, cause);
            }
            throw new StoreException("store file %s failed: %s".formatted(file, e.getCause()), e);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() {
        if (!writer.isShutdown()) {
            onWriter(() -> {
                open.ifPresent(this::close);
                open = Optional.empty();
                seals.close();
                return true;
            });
        }
        writer.close();
    }

    /** Commits need no closing to be durable, so a failure here loses nothing. */
    private void close(MvFile opened) {
        try {
            opened.close(COMPACT_ON_CLOSE_MILLIS);
        } catch (RuntimeException e) {
            LOG.warn("store file {} could not be closed in order; all commits are in it: {}", file, e.getMessage());
            opened.abandon();
        }
    }
}
