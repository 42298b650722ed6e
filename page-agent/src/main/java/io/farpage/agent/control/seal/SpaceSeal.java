package io.farpage.agent.control.seal;

import io.farpage.agent.data.seal.SealKeys;
import io.farpage.agent.data.seal.SealTable;
import io.farpage.agent.data.seal.SealedSpace;
import io.farpage.linux.crypto.LibCrypto;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * An encrypted space while it is attached for a guest: its key, and tags and versions of its pages. Used by one thread
 * at a time.
 *
 * <p>Before the first page can be sealed, {@link #begin} moves the file of the last attachment aside: from then on it
 * is not what the homes hold. {@link #end} writes a new one. Memory that outlives this process, a {@link KeptSeal}, can
 * hold tags, versions and salts: it gets the salt of a key before the first page is sealed under it, and tag and
 * version of a page before the page is sent to a home.
 */
public final class SpaceSeal implements AutoCloseable {
    private final SealPlace place;
    private final LibCrypto library;
    private final SpaceKey key;
    private SealFile.Contents contents;
    private final List<SealKeys> keys = new ArrayList<>(1);
    private final SecureRandom random = new SecureRandom();
    private boolean begun;

    /** @param key which this closes */
    SpaceSeal(SealPlace place, LibCrypto library, SpaceKey key, SealFile.Contents contents) {
        this.place = place;
        this.library = library;
        this.key = key;
        this.contents = contents;
    }

    /** Whether some pages are at their homes. */
    public boolean hasPages() {
        return !contents.salts().isEmpty();
    }

    /** Earlier attachments under whose keys pages are sealed. */
    public int generations() {
        return contents.salts().size();
    }

    /** The id of the key. */
    public String keyId() {
        return key.id();
    }

    /**
     * Begins to seal under a key that was never used before.
     *
     * @param kept for a guest that outlives this process
     * @throws SealException if the file of the last attachment cannot be moved, there are too many keys, or the salts
     *     cannot be kept
     */
    public SealedSpace begin(Optional<KeptSeal> kept) throws SealException {
        int generation = 1;
        while (contents.salts().containsKey(generation)) {
            generation++;
        }
        if (generation == SealTable.GENERATIONS) {
            throw new SealException(
                    ("%s: pages of %d attachments are at their homes as they were sealed then, and no more keys can be"
                                    + " told apart; begin with zeros (--reset)")
                            .formatted(place.file(), generation - 1));
        }
        place.moveAside();
        begun = true;
        byte[] salt = new byte[SealFile.SALT_BYTES];
        random.nextBytes(salt);
        contents.salts().put(generation, salt);
        if (kept.isPresent()) {
            keep(kept.get());
        }
        SealKeys derived = new SealKeys();
        keys.add(derived);
        for (Map.Entry<Integer, byte[]> each : contents.salts().entrySet()) {
            byte[] one = key.derive(each.getValue(), "farpage pages", place.space());
            derived.put(each.getKey(), one);
            Arrays.fill(one, (byte) 0);
        }
        return new SealedSpace(
                library,
                contents.table(),
                derived,
                new SealedSpace.Identity(place.space(), place.pageBytes()),
                generation);
    }

    private void keep(KeptSeal kept) throws SealException {
        SealTable table = contents.table();
        if (table != kept.table()) {
            kept.table().copy(table);
            contents = new SealFile.Contents(kept.table(), contents.salts());
            table.close();
        }
        Optional<String> failure = kept.salts(contents.salts());
        if (failure.isPresent()) {
            throw new SealException("space %d: the salts of its keys cannot be kept for another process: %s"
                    .formatted(place.space(), failure.get()));
        }
    }

    /** Forgets the salts of keys under which no page is sealed. */
    void forgetUnused() {
        contents = new SealFile.Contents(contents.table(), used());
    }

    /**
     * Writes tags and versions to the file. Call it after the last page is sealed.
     *
     * @return the mark of the file; empty if nothing was begun, and the file is as it was
     * @throws SealException if the file cannot be written; the call may be repeated
     */
    public Optional<String> end() throws SealException {
        if (!begun) {
            return Optional.empty();
        }
        byte[] mark = new byte[SealFile.MARK_BYTES];
        random.nextBytes(mark);
        SealTable table = contents.table();
        SealFile.Header header = new SealFile.Header(
                place.space(), table.pages(), place.pageBytes(), HexFormat.of().formatHex(mark));
        try {
            SealFile.write(place.file(), header, key, new SealFile.Contents(table, used()));
            place.forgetEarlier();
        } catch (IOException e) {
            throw new SealException("%s cannot be written: %s".formatted(place.file(), e), e);
        }
        return Optional.of(header.mark());
    }

    private SortedMap<Integer, byte[]> used() {
        BitSet generations = new BitSet();
        SealTable table = contents.table();
        for (long page = 0; page < table.pages(); page++) {
            generations.set(SealTable.generation(table.version(page)));
        }
        SortedMap<Integer, byte[]> used = new TreeMap<>(contents.salts());
        used.keySet().removeIf(generation -> !generations.get(generation));
        return used;
    }

    /** Wipes the keys. Call it after the last page is sealed or opened. Closing twice does nothing. */
    @Override
    public void close() {
        keys.forEach(SealKeys::close);
        contents.table().close();
        key.close();
    }

    /**
     * Where the tags of a space are kept.
     *
     * @param file of the last attachment
     * @param space id
     */
    record SealPlace(Path file, long space, int pageBytes) {
        /** Where the file is while the space is attached. */
        Path aside() {
            return file.resolveSibling(file.getFileName() + ".attached");
        }

        void moveAside() throws SealException {
            try {
                if (Files.exists(file)) {
                    Files.move(file, aside(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
                    SealFile.sync(file);
                }
            } catch (IOException e) {
                throw new SealException("%s cannot be moved aside: %s".formatted(file, e), e);
            }
        }

        void forgetEarlier() throws IOException {
            Files.deleteIfExists(aside());
        }
    }
}
