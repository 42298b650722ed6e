package io.farpage.agent.data.seal;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.farpage.linux.crypto.AesGcm;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Seals and opens the pages of one pager. The shard's thread only. Allocates nothing, except when the first page of a
 * generation is opened.
 *
 * <p>A nonce is the number of the page in the space (48 bits) and the number of the message under the key (48 bits).
 * Messages are counted from 1 on and never counted again, and each page has one pager, so no nonce is used twice under
 * a key. The tag covers the space, the page and the version: a page opens only as the newest version of the page that
 * it was sealed as.
 */
public final class PageSeal implements AutoCloseable {
    private static final ValueLayout.OfLong LONG = JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final int DATA_BYTES = 3 * Long.BYTES;

    /** Ciphers for opening that are kept, each with the key of one generation. */
    private static final int KEPT = 8;

    private final SealedSpace space;
    private final SealTable table;
    /** Pages that were sealed by earlier attachments. */
    private final BitSet sealed;

    private final long firstPage;
    private final int pageBytes;
    private final AesGcm sealing;
    private final @Nullable AesGcm[] opening = new AesGcm[KEPT];
    private final int[] generation = new int[KEPT];
    private long messages;

    PageSeal(SealedSpace space, long firstPage, int pages) {
        this.space = space;
        this.firstPage = firstPage;
        table = space.table();
        sealed = new BitSet(pages);
        for (int page = 0; page < pages; page++) {
            sealed.set(page, table.version(firstPage + page) != 0);
        }
        pageBytes = space.identity().pageBytes();
        sealing = AesGcm.sealing(space.library(), DATA_BYTES);
        sealing.key(space.keys().address(space.generation()));
    }

    /** The first page from {@code from} on that no earlier attachment has sealed. */
    public int nextAbsent(int from) {
        return sealed.nextClearBit(from);
    }

    /**
     * The first page from {@code from} on that an earlier attachment has sealed; {@link Integer#MAX_VALUE} if there is
     * none.
     */
    public int nextSealed(int from) {
        int next = sealed.nextSetBit(from);
        return next < 0 ? Integer.MAX_VALUE : next;
    }

    /**
     * Seals the newest contents of a page. No earlier form of the page opens from now on.
     *
     * @param source address of the page
     * @param target where its sealed form goes; may be {@code source}
     */
    public void seal(int page, long source, long target) {
        long at = firstPage + page;
        long message = ++messages;
        if (message >>> SealTable.GENERATION_SHIFT != 0) {
            throw new IllegalStateException(
                    "2^48 pages were sealed under one key; end the guest and attach the space again");
        }
        long version = ((long) space.generation() << SealTable.GENERATION_SHIFT) | message;
        begin(sealing, at, version);
        sealing.seal(source, target, pageBytes, table.tag(at));
        table.version(at, version);
    }

    /**
     * Opens a page that was fetched. If that fails, what is in {@code target} is worthless.
     *
     * @param source address of its sealed form
     * @param target where the page goes; may be {@code source}
     * @return whether it is what was sealed last as this page
     */
    public boolean open(int page, long source, long target) {
        long at = firstPage + page;
        long version = table.version(at);
        int of = SealTable.generation(version);
        if (version == 0 || !space.keys().has(of)) {
            return false;
        }
        AesGcm cipher = opening(of);
        begin(cipher, at, version);
        return cipher.open(source, target, pageBytes, table.tag(at));
    }

    private AesGcm opening(int of) {
        int slot = of % KEPT;
        AesGcm cipher = opening[slot];
        if (cipher == null) {
            cipher = AesGcm.opening(space.library(), DATA_BYTES);
            opening[slot] = cipher;
        }
        if (generation[slot] != of) {
            cipher.key(space.keys().address(of));
            generation[slot] = of;
        }
        return cipher;
    }

    private void begin(AesGcm cipher, long page, long version) {
        MemorySegment data = cipher.data();
        data.set(LONG, 0, space.identity().id());
        data.set(LONG, Long.BYTES, page);
        data.set(LONG, 2L * Long.BYTES, version);
        MemorySegment nonce = cipher.nonce();
        nonce.set(INT, 0, (int) (page >>> 16));
        nonce.set(LONG, Integer.BYTES, (page << 48) | (version & ((1L << SealTable.GENERATION_SHIFT) - 1)));
    }

    /** Wipes the keys. Call it after the last page is sealed or opened. Closing twice does nothing. */
    @Override
    public void close() {
        sealing.close();
        for (AesGcm cipher : opening) {
            if (cipher != null) {
                cipher.close();
            }
        }
    }
}
