package io.farpage.coordinator.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreException;

/**
 * One opening of the store's file: checked against its seals before anything is written to it. MVStore itself opens a
 * file that lost its end with the newest commit that is whole. Used by one thread.
 */
final class MvFile {

    static final String FORMAT_MAP = "format";
    static final String FORMAT_KEY = "version";

    /** The version of what the tables hold; raised when other programs cannot read the rows. */
    static final String FORMAT = "3";

    static final String INTEGRITY_MAP = "integrity";
    private static final String REVISION = "revision";
    private static final String DIGEST = "digest";
    private static final String BEFORE = "before";

    private final MVStore store;
    private final Map<Table, MVMap<String, String>> maps = new EnumMap<>(Table.class);
    private final MVMap<String, String> integrity;
    private final RowDigest digest = new RowDigest();
    private Seal seal;

    private MvFile(MVStore store) {
        this.store = store;
        for (Table table : Table.values()) {
            MVMap<String, String> map = store.openMap(table.mapName());
            maps.put(table, map);
            map.forEach((key, row) -> digest.add(table, key, row));
        }
        integrity = store.openMap(INTEGRITY_MAP);
        seal = new Seal(Long.parseLong(integrity.getOrDefault(REVISION, "0")), digest.toString());
    }

    /**
     * Checks and opens the file of a store.
     *
     * @param scheme what H2 is to prefix the path with; empty for plain files
     * @throws StoreException if the file is damaged, lost its end, is of another format or in use
     */
    static MvFile open(Path file, String scheme, SealFile seals) {
        String name = scheme + file;
        try {
            boolean empty = !Files.exists(file) || Files.size(file) == 0;
            Seal last = seals.newest().orElseThrow(() -> damaged(seals.file(), "neither of its two seals is whole"));
            if (empty && last.revision() > 0) {
                throw damaged(
                        file,
                        "it is empty, and %d commits were recorded in %s".formatted(last.revision(), seals.file()));
            }
            if (!empty) {
                check(file, last);
            }
            return opened(file, name, seals, last);
        } catch (MVStoreException e) {
            throw explained(file, e);
        } catch (IOException e) {
            throw new StoreException("store file %s cannot be read: %s".formatted(file, e.getMessage()), e);
        }
    }

    /**
     * Reads the whole file without writing to it: a file that is refused is left as it is, for what can still be saved
     * from it.
     */
    private static void check(Path file, Seal last) throws IOException {
        StoreReader reader = new StoreReader(file);
        try {
            check(file, reader, last);
        } finally {
            reader.closeFile();
        }
    }

    private static void check(Path file, StoreReader reader, Seal last) {
        MVStore store = openStore(file, new MVStore.Builder().fileStore(reader).readOnly());
        try {
            if (store.getMapNames().isEmpty() && last.revision() == 0) {
                return;
            }
            String format = store.hasMap(FORMAT_MAP) ? formatOf(store) : null;
            if (!FORMAT.equals(format) && !store.getMapNames().isEmpty()) {
                throw new StoreException(
                        ("store file %s has format version %s and this program reads version %s; use the program that"
                                        + " wrote it, or, if that is this one, restore the newest copy of the whole"
                                        + " directory, or move the directory away and start the coordinator with"
                                        + " --rebuild")
                                .formatted(file, format == null ? "(none)" : format, FORMAT));
            }
            checkSeal(file, store, last);
        } catch (MVStoreException e) {
            throw explained(file, e);
        } catch (StoreException e) {
            throw e;
        } catch (RuntimeException | AssertionError | StackOverflowError e) { // what H2 throws for damaged pages
            throw damaged(file, e.toString());
        } finally {
            store.closeImmediately();
        }
    }

    private static String formatOf(MVStore store) {
        return String.valueOf(store.<String, String>openMap(FORMAT_MAP).get(FORMAT_KEY));
    }

    private static void checkSeal(Path file, MVStore store, Seal last) {
        Map<String, String> integrity = store.hasMap(INTEGRITY_MAP) ? store.openMap(INTEGRITY_MAP) : Map.of();
        long revision = Long.parseLong(integrity.getOrDefault(REVISION, "0"));
        RowDigest digest = new RowDigest();
        for (Table table : Table.values()) {
            if (store.hasMap(table.mapName())) {
                store.<String, String>openMap(table.mapName()).forEach((key, row) -> digest.add(table, key, row));
            }
        }
        String found = digest.toString();
        if (revision < last.revision()) {
            throw damaged(
                    file,
                    "it ends with commit %d, and commit %d was acknowledged".formatted(revision, last.revision()));
        }
        // A process that was killed between its commit and the seal leaves the file one commit ahead.
        boolean ahead = revision == last.revision() + 1 && last.digest().equals(integrity.getOrDefault(BEFORE, ""));
        if (!(revision == last.revision() || ahead)) {
            throw damaged(
                    file,
                    ("it ends with commit %d, which does not follow commit %d of the seals beside it; the two are not"
                                    + " of one copy")
                            .formatted(revision, last.revision()));
        }
        String expected = ahead ? integrity.getOrDefault(DIGEST, "") : last.digest();
        if (!found.equals(expected)) {
            throw damaged(
                    file, "the digest of its rows is %s, and commit %d left %s".formatted(found, revision, expected));
        }
    }

    private static MvFile opened(Path file, String name, SealFile seals, Seal last) {
        MVStore store = openStore(file, new MVStore.Builder().fileName(name));
        try {
            MvFile opened = new MvFile(store);
            MVMap<String, String> format = store.openMap(FORMAT_MAP);
            if (!FORMAT.equals(format.get(FORMAT_KEY))) {
                // The commit names the digest before it. A process that is killed between the commit and its seal must
                // leave that digest beside the file.
                seals.write(opened.seal());
                format.put(FORMAT_KEY, FORMAT);
                opened.commit(Optional.empty());
                seals.write(opened.seal());
            } else if (!opened.seal().equals(last)) {
                store.sync();
                seals.write(opened.seal());
            }
            return opened;
        } catch (RuntimeException e) {
            store.closeImmediately();
            throw e;
        }
    }

    private static MVStore openStore(Path file, MVStore.Builder builder) {
        try {
            return builder.autoCommitDisabled().open();
        } catch (MVStoreException e) {
            throw explained(file, e);
        } catch (RuntimeException | AssertionError | StackOverflowError e) { // what H2 throws for a damaged file
            throw damaged(file, e.toString());
        }
    }

    MVMap<String, String> map(Table table) {
        return Optional.ofNullable(maps.get(table)).orElseThrow();
    }

    /** The last commit. */
    Seal seal() {
        return seal;
    }

    /** Makes changes and the seal that they lead to durable, in one transaction. */
    void commit(Optional<Iterable<Change>> changes) {
        RowDigest after = digest.copy();
        changes.ifPresent(all -> all.forEach(change -> apply(change, after)));
        Seal next = new Seal(seal.revision() + 1, after.toString());
        integrity.put(REVISION, Long.toString(next.revision()));
        integrity.put(BEFORE, seal.digest());
        integrity.put(DIGEST, next.digest());
        store.commit();
        store.sync();
        digest.become(after);
        seal = next;
    }

    private void apply(Change change, RowDigest after) {
        MVMap<String, String> map = map(change.table());
        Optional<String> before = change.row().isPresent()
                ? Optional.ofNullable(map.put(change.key(), change.row().get()))
                : Optional.ofNullable(map.remove(change.key()));
        before.ifPresent(row -> after.remove(change.table(), change.key(), row));
        change.row().ifPresent(row -> after.add(change.table(), change.key(), row));
    }

    void compact(Compaction compaction) {
        store.setRetentionTime(compaction.retentionMillis());
        store.compact(compaction.fillPercent(), compaction.bytes());
    }

    void close(int compactMillis) {
        store.close(compactMillis);
    }

    /** Lets go of the file without writing. */
    void abandon() {
        store.closeImmediately();
    }

    static StoreException explained(Path file, MVStoreException e) {
        return switch (e.getErrorCode()) {
            case DataUtils.ERROR_FILE_LOCKED ->
                new StoreException(
                        ("store file %s is in use by another process; stop that coordinator or set store.directory to"
                                        + " another directory")
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
                    DataUtils.ERROR_INTERNAL -> damaged(file, String.valueOf(e.getMessage()));
            default -> new StoreException("store file %s failed: %s".formatted(file, e.getMessage()), e);
        };
    }

    private static StoreException damaged(Path file, String how) {
        return new StoreException(
                ("store file %s is damaged: %s; restore the newest copy of the whole directory, or move the directory"
                                + " away and start the coordinator with --rebuild, which asks the agents what they"
                                + " hold")
                        .formatted(file, how));
    }
}
