package io.farpage.agent.data.shard;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * What the plane of messages writes into the header of each, little-endian: {@code kind(1) version(1) credits(2)
 * number(4)}. A HELLO has {@code magic(4) longest(4)} behind it, and zeros. Messages are numbered from 0 on, and each
 * number is that of the messages before it.
 */
final class MessageHeader {
    static final int VERSION = 1;

    static final byte HELLO = 1;
    static final byte CREDIT = 2;
    static final byte MESSAGE = 3;

    private static final int MAGIC = 0x534D5046; // "FPMS"
    private static final long VERSION_AT = 1;
    private static final long CREDITS_AT = 2;
    private static final long NUMBER_AT = 4;
    private static final long MAGIC_AT = 8;
    private static final long LONGEST_AT = 12;

    private static final ValueLayout.OfByte U8 = ValueLayout.JAVA_BYTE;
    private static final ValueLayout.OfChar U16 = ValueLayout.JAVA_CHAR.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt U32 = ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);

    private MessageHeader() {}

    static void write(MemorySegment to, byte kind, int credits, int number) {
        to.set(U8, 0, kind);
        to.set(U8, VERSION_AT, (byte) VERSION);
        to.set(U16, CREDITS_AT, (char) credits);
        to.set(U32, NUMBER_AT, number);
    }

    static void writeHello(MemorySegment to, int credits) {
        to.asSlice(0, MessageChannel.HEADER_BYTES).fill((byte) 0);
        write(to, HELLO, credits, 0);
        to.set(U32, MAGIC_AT, MAGIC);
        to.set(U32, LONGEST_AT, MessageChannel.MAX_BYTES);
    }

    static byte kind(MemorySegment from) {
        return from.get(U8, 0);
    }

    static int version(MemorySegment from) {
        return Byte.toUnsignedInt(from.get(U8, VERSION_AT));
    }

    static int credits(MemorySegment from) {
        return from.get(U16, CREDITS_AT);
    }

    static int number(MemorySegment from) {
        return from.get(U32, NUMBER_AT);
    }

    /** What is wrong with a HELLO. */
    static Optional<String> faultOfHello(MemorySegment hello, int bytes) {
        if (bytes != MessageChannel.HEADER_BYTES) {
            return Optional.of("has %d bytes, not %d".formatted(bytes, MessageChannel.HEADER_BYTES));
        }
        if (kind(hello) != HELLO || hello.get(U32, MAGIC_AT) != MAGIC) {
            return Optional.of("is of kind %d with the magic 0x%08x, not of kind %d with 0x%08x"
                    .formatted(kind(hello), hello.get(U32, MAGIC_AT), HELLO, MAGIC));
        }
        if (version(hello) != VERSION) {
            return Optional.of("has version %d, and this agent speaks %d".formatted(version(hello), VERSION));
        }
        int longest = hello.get(U32, LONGEST_AT);
        if (longest != MessageChannel.MAX_BYTES) {
            return Optional.of("takes messages of %d bytes, not %d".formatted(longest, MessageChannel.MAX_BYTES));
        }
        int credits = credits(hello);
        // With half of them unreturned a peer returns credits by a message of its own; fewer would never get there.
        if (credits != LinkChannel.CREDITS) {
            return Optional.of("gives %d credits, not %d".formatted(credits, LinkChannel.CREDITS));
        }
        return Optional.empty();
    }
}
