package io.farpage.coordinator.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreException;

/**
 * The store in one file of H2's MVStore. All file access is on a thread of its own, because interrupting a thread within a file channel
 * closes the channel, and requests run on threads that others may interrupt.
 */
public final class MvStore implements Store {

    /** Name of the file within the data directory. */
    public static final String FILE = "coordinator.mv.db";

    static final String FORMAT_MAP = "format";
    static final String INTEGRITY_MAP = "integrity";
    static final String REVISION = "revision";
    static final String FORMAT_KEY = "version";

    /** The version of what the tables hold; to be raised when rows can no longer be read by older programs. */
    static final String FORMAT = "1";

    private static final int COMPACT_EVERY = 1_000;
    private static final int COMPACT_FILL_PERCENT = 50;
    private static final int COMPACT_BYTES = 4 << 20;
    private static final int COMPACT_ON_CLOSE_MILLIS = 100;

    private final Path file;
    private final MVStore store;
    private final Map<Table, MVMap<String, String>> maps = new EnumMap<>(Table.class);
    private final ExecutorService writer;
    private final MVMap<String, String> integrity;
    private volatile long revision;
    private int commits;

    private MvStore(Path file, MVStore store) {
        this.file = file;
        this.store = store;
        for (Table table : Table.values()) {
            maps.put(table, store.openMap(table.mapName()));
        }
        integrity = store.openMap(INTEGRITY_MAP);
        revision = Long.parseLong(integrity.getOrDefault(REVISION, "0"));
        this.writer = Executors.newSingleThreadExecutor(
                Thread.ofPlatform().daemon().name("store").factory());
    }

    /**
     * Opens the store of a data directory, making both if need be.
     *
     * @throws StoreException if the directory cannot be used, another process has the file open, the file is damaged, or it is of
     *     another format version
     */
    public static MvStore open(Path directory) {
        Path file = directory.resolve(FILE).toAbsolutePath();
        try {
            Files.createDirectories(directory);
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
        MVStore store = openFile(file);
        try {
            checkFormat(file, store);
            return new MvStore(file, store);
        } catch (MVStoreException e) {
            store.closeImmediately();
            throw explained(file, e);
        } catch (StoreException e) {
            store.closeImmediately();
            throw e;
        }
    }

    private static MVStore openFile(Path file) {
        try {
            return new MVStore.Builder()
                    .fileName(file.toString())
                    .autoCommitDisabled()
                    .open();
        } catch (MVStoreException e) {
            throw explained(file, e);
        } catch (RuntimeException e) { // a damaged file makes H2 fail in many ways
            throw damaged(file, e);
        }
    }

    private static void checkFormat(Path file, MVStore store) {
        if (store.getMapNames().isEmpty()) {
            MVMap<String, String> format = store.openMap(FORMAT_MAP);
            format.put(FORMAT_KEY, FORMAT);
            store.commit();
            return;
        }
        MVMap<String, String> format = store.openMap(FORMAT_MAP);
        String found = format.get(FORMAT_KEY);
        if (!FORMAT.equals(found)) {
            throw new StoreException(
                    "store file %s has format version %s and this program reads version %s; use the program that wrote it, or move the file away to begin with an empty store"
                            .formatted(file, found == null ? "(none)" : found, FORMAT));
        }
    }

    @Override
    public Map<String, String> rows(Table table) {
        return onWriter(() -> {
            Map<String, String> rows = new TreeMap<>();
            MVMap<String, String> map = map(table);
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
                for (Change change : changes) {
                    change.row()
                            .ifPresentOrElse(
                                    row -> map(change.table()).put(change.key(), row),
                                    () -> map(change.table()).remove(change.key()));
                }
                integrity.put(REVISION, Long.toString(next));
                store.commit();
                store.sync();
                revision = next;
            } catch (RuntimeException e) {
                store.rollback();
                throw e;
            }
            if (++commits % COMPACT_EVERY == 0) {
                store.compact(COMPACT_FILL_PERCENT, COMPACT_BYTES);
            }
            return true;
        });
    }

    private MVMap<String, String> map(Table table) {
        MVMap<String, String> map = maps.get(table);
        if (map == null) {
            throw new IllegalStateException("no map for " + table);
        }
        return map;
    }

    /** Runs a task on the writer thread and waits for its end even when interrupted, for a change half done is none. */
    private <T> T onWriter(java.util.concurrent.Callable<T> task) {
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
            if (e.getCause() instanceof MVStoreException cause) {
                throw explained(file, cause);
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
        if (!store.isClosed()) {
            onWriter(() -> {
                store.close(COMPACT_ON_CLOSE_MILLIS);
                return true;
            });
        }
        writer.close();
    }

    private static StoreException explained(Path file, MVStoreException e) {
        return switch (e.getErrorCode()) {
            case DataUtils.ERROR_FILE_LOCKED ->
                new StoreException(
                        "store file %s is in use by another process; stop that coordinator or set store.directory to another directory"
                                .formatted(file),
                        e);
            case DataUtils.ERROR_WRITING_FAILED ->
                new StoreException(
                        "store file %s cannot be written: %s; is the disk full?".formatted(file, e.getMessage()), e);
            case DataUtils.ERROR_READING_FAILED,
                    DataUtils.ERROR_FILE_CORRUPT,
                    DataUtils.ERROR_UNSUPPORTED_FORMAT,
                    DataUtils.ERROR_CHUNK_NOT_FOUND,
                    DataUtils.ERROR_SERIALIZATION,
                    DataUtils.ERROR_UNKNOWN_DATA_TYPE,
                    DataUtils.ERROR_INTERNAL -> damaged(file, e);
            default -> new StoreException("store file %s failed: %s".formatted(file, e.getMessage()), e);
        };
    }

    private static StoreException damaged(Path file, RuntimeException e) {
        return new StoreException(
                "store file %s is damaged (%s); restore a copy, or move it away to begin with an empty store"
                        .formatted(file, e.getMessage()),
                e);
    }
}
