package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.verbs.WcStatus;
import java.lang.foreign.MemorySegment;

/**
 * The header of a reply.
 *
 * <pre>
 * 0 opcode u8 (the request's, with bit 7 set) | 1 status u8 (a code of {@link WcStatus}) | 2 zero u16 | 4 psn u32
 * 8 length u32 (of the data that follows) | 12 zero u32
 * </pre>
 */
final class ReplyHeader {
    private ReplyHeader() {}

    static void encode(MemorySegment into, long offset, int requestOpcode, WcStatus status, int psn, int length) {
        into.set(JAVA_BYTE, offset, (byte) (requestOpcode | Wire.REPLY_BIT));
        into.set(JAVA_BYTE, offset + 1, (byte) status.code());
        into.set(Wire.SHORT, offset + 2, (short) 0);
        into.set(Wire.INT, offset + 4, psn);
        into.set(Wire.INT, offset + 8, length);
        into.set(Wire.INT, offset + 12, 0);
    }

    static int psn(MemorySegment bytes, long offset) {
        return bytes.get(Wire.INT, offset + 4);
    }

    /**
     * Checks the reply at {@code offset} against the request that it must answer.
     *
     * @return {@link WcStatus#SUCCESS}, the refusal, or {@link WcStatus#BAD_RESP_ERR} if it does not answer that
     *     request or is malformed
     */
    static WcStatus check(MemorySegment bytes, long offset, int requestOpcode, int psn, int length) {
        int opcode = Byte.toUnsignedInt(bytes.get(JAVA_BYTE, offset));
        WcStatus status = WcStatus.ofCode(Byte.toUnsignedInt(bytes.get(JAVA_BYTE, offset + 1)));
        int zeros = bytes.get(Wire.SHORT, offset + 2) | bytes.get(Wire.INT, offset + 12);
        int announced = bytes.get(Wire.INT, offset + 8);
        if (opcode != (requestOpcode | Wire.REPLY_BIT) || zeros != 0 || bytes.get(Wire.INT, offset + 4) != psn) {
            return WcStatus.BAD_RESP_ERR;
        }
        return switch (status) {
            case SUCCESS -> announced == length ? WcStatus.SUCCESS : WcStatus.BAD_RESP_ERR;
            case REM_INV_REQ_ERR, REM_ACCESS_ERR, REM_OP_ERR, RNR_RETRY_EXC_ERR ->
                announced == 0 ? status : WcStatus.BAD_RESP_ERR;
            default -> WcStatus.BAD_RESP_ERR;
        };
    }
}
