package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a message of a coherent space, little-endian as the machines are. The first eight bytes
 * are the channel's. See docs/wire-protocol.md.
 *
 * <pre>
 *  8  kind           1 byte, {@link MessageKind}
 *  9  flags          1 byte, {@link #HAS_SHARED}, {@link #UNCHANGED} or {@link #IF_FREE}
 * 16  space          8 bytes, id
 * 24  attachment     8 bytes, of the member to the space; 0 between homes
 * 32  page           8 bytes, of the space
 * 40  session        8 bytes, number of the session that the message belongs to
 * 48  layout         8 bytes, in a SYNC_END: {@link #layout of the extents} whose pages the member has named
 * 64  payload        a page, two bits for each of up to {@link #SYNC_PAGES} pages, or a text
 * </pre>
 */
final class CoherentMessage {
    static final int PAGE_BYTES = 4096;

    /** Bytes of a message without a payload. */
    static final int HEADER_BYTES = MessageChannel.HEADER_BYTES;

    /** Bytes of a message with a page. */
    static final int PAGE_MESSAGE_BYTES = HEADER_BYTES + PAGE_BYTES;

    /** In a GETM: the member has the page shared. */
    static final byte HAS_SHARED = 1;

    /** In a PUT: it has no bytes, since the member has not written to the page. */
    static final byte UNCHANGED = 2;

    /** In a GETS: the page is not wanted if another member has it for itself, or gets it. */
    static final byte IF_FREE = 4;

    /** Pages that one SYNC describes. */
    static final int SYNC_PAGES = PAGE_BYTES * 4;

    /** In a SYNC: the member does not have the page. */
    static final int ABSENT = 0;
    /** In a SYNC: the member has the page as the home has it. */
    static final int SHARED = 1;
    /** In a SYNC: the member has the page for itself. */
    static final int MODIFIED = 2;
    /** In a SYNC: the member had the page for itself, protects it, and sends it after the SYNC_END. */
    static final int SENDING = 3;

    private static final int KIND = 8;
    private static final int FLAGS = 9;
    private static final int SPACE = 16;
    private static final int ATTACHMENT = 24;
    private static final int PAGE = 32;
    private static final int SESSION = 40;
    private static final int LAYOUT = 48;

    private CoherentMessage() {}

    static void write(
            MemorySegment to, MessageKind kind, int flags, long space, long attachment, long session, long page) {
        to.set(JAVA_BYTE, KIND, kind.code());
        to.set(JAVA_BYTE, FLAGS, (byte) flags);
        to.set(JAVA_LONG, SPACE, space);
        to.set(JAVA_LONG, ATTACHMENT, attachment);
        to.set(JAVA_LONG, PAGE, page);
        to.set(JAVA_LONG, SESSION, session);
    }

    /** Null if the code is none of a kind. */
    static @Nullable MessageKind kind(MemorySegment message) {
        return MessageKind.of(message.get(JAVA_BYTE, KIND));
    }

    static boolean hasShared(MemorySegment message) {
        return (message.get(JAVA_BYTE, FLAGS) & HAS_SHARED) != 0;
    }

    static boolean isUnchanged(MemorySegment message) {
        return (message.get(JAVA_BYTE, FLAGS) & UNCHANGED) != 0;
    }

    static boolean isIfFree(MemorySegment message) {
        return (message.get(JAVA_BYTE, FLAGS) & IF_FREE) != 0;
    }

    static long space(MemorySegment message) {
        return message.get(JAVA_LONG, SPACE);
    }

    static long attachment(MemorySegment message) {
        return message.get(JAVA_LONG, ATTACHMENT);
    }

    static long page(MemorySegment message) {
        return message.get(JAVA_LONG, PAGE);
    }

    static long session(MemorySegment message) {
        return message.get(JAVA_LONG, SESSION);
    }

    /**
     * A number for an extent. The sums of those of two homes' extents are the same if these are the same extents, and
     * otherwise hardly ever.
     */
    static long layout(long sum, long firstPage, long pages) {
        long mixed = (firstPage * 0x9E3779B97F4A7C15L) ^ (pages * 0xC2B2AE3D27D4EB4FL);
        return sum + (mixed ^ (mixed >>> 29));
    }

    static long layout(MemorySegment message) {
        return message.get(JAVA_LONG, LAYOUT);
    }

    static void setLayout(MemorySegment message, long layout) {
        message.set(JAVA_LONG, LAYOUT, layout);
    }

    static boolean hasPayload(MemorySegment message) {
        return message.byteSize() >= PAGE_MESSAGE_BYTES;
    }

    /** The bytes of a page in a message that has them. */
    static MemorySegment payload(MemorySegment message) {
        return message.asSlice(HEADER_BYTES, PAGE_BYTES);
    }

    /** What a SYNC says of a page, counted from the first that it describes. */
    static int held(MemorySegment message, int index) {
        return (message.get(JAVA_BYTE, HEADER_BYTES + index / 4) >> (2 * (index % 4))) & 3;
    }

    static void hold(MemorySegment message, int index, int what) {
        int at = HEADER_BYTES + index / 4;
        int shift = 2 * (index % 4);
        int others = message.get(JAVA_BYTE, at) & ~(3 << shift);
        message.set(JAVA_BYTE, at, (byte) (others | (what << shift)));
    }

    /** Writes a text behind the header. Returns the length of the message. */
    static int text(MemorySegment to, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, PAGE_BYTES);
        MemorySegment.copy(bytes, 0, to, JAVA_BYTE, HEADER_BYTES, length);
        return HEADER_BYTES + length;
    }

    static String text(MemorySegment message) {
        byte[] bytes = message.asSlice(HEADER_BYTES).toArray(JAVA_BYTE);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
