package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.EnumSet;
import java.util.Optional;
import org.junit.jupiter.api.Tag;

/**
 * The decoders take any bytes: they never throw, what they accept is within its ranges, and encoding what they accepted
 * gives back the same bytes.
 *
 * <p>An ordinary build replays the inputs in {@code src/test/resources}. {@code make fuzz} looks for new ones for a
 * minute.
 */
@Tag("portable")
final class DecoderFuzzTest {
    private static MemorySegment bytes(FuzzedDataProvider data, int size) {
        MemorySegment segment = Arena.ofAuto().allocate(size, 8);
        byte[] some = data.consumeBytes(size);
        MemorySegment.copy(some, 0, segment, JAVA_BYTE, 0, some.length);
        return segment;
    }

    @FuzzTest(maxDuration = "1m")
    void shouldAcceptAnyBytes(FuzzedDataProvider data) {
        switch (data.consumeInt(0, 4)) {
            case 0 -> hello(data);
            case 1 -> helloReply(data);
            case 2 -> request(data);
            case 3 -> reply(data);
            default -> region(data);
        }
    }

    private static void hello(FuzzedDataProvider data) {
        MemorySegment bytes = bytes(data, Wire.HELLO_SIZE);
        Optional<Hello> hello = Hello.decode(bytes);
        if (hello.isPresent()) {
            assertTrue((hello.get().sourceQpn() | hello.get().targetPsn()) >>> 24 == 0);
            MemorySegment again = Arena.ofAuto().allocate(Wire.HELLO_SIZE, 8);
            hello.get().encode(again);
            assertEquals(-1, again.mismatch(bytes));
        }
    }

    private static void helloReply(FuzzedDataProvider data) {
        MemorySegment bytes = bytes(data, Wire.HELLO_REPLY_SIZE);
        Optional<HelloReply> reply = HelloReply.decode(bytes);
        if (reply.isPresent() && reply.get().verdict() == HelloReply.Verdict.ACCEPTED) {
            // What the timers and limits are computed from.
            assertTrue(RnrTimer.nanos(reply.get().minRnrTimer()) > 0);
            assertTrue(reply.get().maxRdAtomic() >= 1);
        }
    }

    private static void request(FuzzedDataProvider data) {
        int psn = data.consumeInt(0, Wire.PSN_MASK);
        MemorySegment bytes = bytes(data, Wire.REQUEST_SIZE);
        RequestHeader header = new RequestHeader();
        if (header.decode(bytes, 0, psn, Wire.flags(Wire.VERSION))) {
            assertTrue(header.length >= 0 && header.length <= Wire.MAX_MESSAGE);
            assertEquals(psn, header.psn);
            MemorySegment again = Arena.ofAuto().allocate(Wire.REQUEST_SIZE, 8);
            RequestHeader.encode(
                    again,
                    0,
                    header.opcode,
                    header.flags,
                    header.psn,
                    header.remoteAddress,
                    header.rkey,
                    header.length);
            assertEquals(-1, again.mismatch(bytes));
        }
    }

    private static void reply(FuzzedDataProvider data) {
        int opcode = data.pickValue(new int[] {Wire.READ, Wire.WRITE, Wire.SEND});
        int psn = data.consumeInt(0, Wire.PSN_MASK);
        int length = data.consumeInt(0, Wire.MAX_MESSAGE);
        MemorySegment bytes = bytes(data, Wire.REPLY_SIZE);
        WcStatus status = ReplyHeader.check(bytes, 0, opcode, psn, length);
        assertTrue(EnumSet.of(
                        WcStatus.SUCCESS,
                        WcStatus.BAD_RESP_ERR,
                        WcStatus.REM_INV_REQ_ERR,
                        WcStatus.REM_ACCESS_ERR,
                        WcStatus.REM_OP_ERR,
                        WcStatus.RNR_RETRY_EXC_ERR)
                .contains(status));
        if (status != WcStatus.BAD_RESP_ERR) {
            MemorySegment again = Arena.ofAuto().allocate(Wire.REPLY_SIZE, 8);
            ReplyHeader.encode(again, 0, opcode, status, psn, status == WcStatus.SUCCESS ? length : 0);
            assertEquals(-1, again.mismatch(bytes));
        }
    }

    private static void region(FuzzedDataProvider data) {
        long size = data.consumeLong(1, 1L << 40);
        long base = data.consumeLong(4096, 1L << 46);
        long from = data.consumeBoolean() ? data.consumeLong() : base + data.consumeLong(-size, size + size);
        int length = data.consumeInt();
        // The same question, asked in numbers that cannot overflow.
        BigInteger start = new BigInteger(Long.toUnsignedString(from));
        BigInteger end = start.add(BigInteger.valueOf(length));
        boolean within = length >= 0
                && start.compareTo(BigInteger.valueOf(base)) >= 0
                && end.compareTo(BigInteger.valueOf(base + size)) <= 0;
        assertEquals(within, SoftMemoryRegion.covers(base, size, from, length));
    }
}
