package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;

/**
 * The header of a request, decoded: a mutable value, made once per connection.
 *
 * <pre>
 *  0 opcode u8 | 1 flags u8 | 2 zero u16 | 4 psn u32 | 8 remote address u64
 * 16 rkey u32 | 20 length u32 | 24 zero u64
 * </pre>
 */
final class RequestHeader {
    /** Offset of the flags. */
    static final long FLAGS = 1;

    /** Offset of the length field. */
    static final long LENGTH = 20;

    int opcode;
    int flags;
    int psn;
    long remoteAddress;
    int rkey;
    int length;

    /**
     * Decodes the 32 bytes at {@code offset} and checks everything that can be checked without knowing memory.
     *
     * @param flagsAllowed on this connection
     * @return whether the header is well-formed and has {@code expectedPsn}; if not, the fields mean nothing
     */
    boolean decode(MemorySegment bytes, long offset, int expectedPsn, int flagsAllowed) {
        opcode = Byte.toUnsignedInt(bytes.get(JAVA_BYTE, offset));
        flags = Byte.toUnsignedInt(bytes.get(JAVA_BYTE, offset + 1));
        int firstZero = bytes.get(Wire.SHORT, offset + 2);
        psn = bytes.get(Wire.INT, offset + 4);
        remoteAddress = bytes.get(Wire.LONG, offset + 8);
        rkey = bytes.get(Wire.INT, offset + 16);
        length = bytes.get(Wire.INT, offset + 20);
        long secondZero = bytes.get(Wire.LONG, offset + 24);
        return Wire.isOpcode(opcode)
                && length >= 0
                && length <= Wire.MAX_MESSAGE
                && (flags & ~flagsAllowed) == 0
                && (isAnswered() || opcode != Wire.READ)
                && (firstZero | secondZero) == 0
                && psn == expectedPsn;
    }

    /** Whether the responder replies if the request succeeds. */
    boolean isAnswered() {
        return (flags & Wire.FLAG_UNANSWERED) == 0;
    }

    /** Writes a header. {@link RequestHeader} objects are for reading only. */
    static void encode(
            MemorySegment into, long offset, int opcode, int flags, int psn, long remoteAddress, int rkey, int length) {
        into.set(JAVA_BYTE, offset, (byte) opcode);
        into.set(JAVA_BYTE, offset + 1, (byte) flags);
        into.set(Wire.SHORT, offset + 2, (short) 0);
        into.set(Wire.INT, offset + 4, psn);
        into.set(Wire.LONG, offset + 8, remoteAddress);
        into.set(Wire.INT, offset + 16, rkey);
        into.set(Wire.INT, offset + 20, length);
        into.set(Wire.LONG, offset + 24, 0);
    }
}
