package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.ibverbs.WorkRequests.Opcode;
import io.farpage.verbs.ibverbs.WorkRequests.SendWr;
import io.farpage.verbs.ibverbs.WorkRequests.Sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** The native chain as the library would read it. */
final class SendChainTest {
    private final SendChain chain = new SendChain(4, 2, 16);

    @Test
    void shouldFillInEveryFieldOfARead() {
        chain.add(7, Opcode.RDMA_READ, SendFlag.SIGNALED | SendFlag.FENCE, 0x1000, 4096, 0x8765_4321);
        chain.setRemote(0x2000, 0xCAFE);

        MemorySegment wr = at(chain.first());
        assertEquals(7, wr.get(JAVA_LONG, SendWr.WR_ID));
        assertEquals(0, wr.get(JAVA_LONG, SendWr.NEXT));
        assertEquals(1, wr.get(JAVA_INT, SendWr.NUM_SGE));
        assertEquals(Opcode.RDMA_READ, wr.get(JAVA_INT, SendWr.OPCODE));
        assertEquals(SendFlag.SIGNALED | SendFlag.FENCE, wr.get(JAVA_INT, SendWr.SEND_FLAGS));
        assertEquals(0x2000, wr.get(JAVA_LONG, SendWr.REMOTE_ADDR));
        assertEquals(0xCAFE, wr.get(JAVA_INT, SendWr.RKEY));
        MemorySegment sge = Native.at(wr.get(JAVA_LONG, SendWr.SG_LIST), Sge.SIZE);
        assertEquals(0x1000, sge.get(JAVA_LONG, Sge.ADDR));
        assertEquals(4096, sge.get(JAVA_INT, Sge.LENGTH));
        assertEquals(0x8765_4321, sge.get(JAVA_INT, Sge.LKEY));
    }

    @Test
    void shouldUnlinkAChainOfTwo() {
        chain.add(1, Opcode.SEND, 0, 0x1000, 8, 1);
        chain.add(2, Opcode.SEND, 0, 0x1000, 8, 1);

        chain.clear();
        chain.add(3, Opcode.SEND, 0, 0x1000, 8, 1);

        assertEquals(1, chain.count());
        assertEquals(0, at(chain.first()).get(JAVA_LONG, SendWr.NEXT), "the library would send request 2 again");
    }

    @Test
    void shouldLinkAChainAndUnlinkItAgain() {
        for (int i = 0; i < 3; i++) {
            chain.add(i, Opcode.SEND, 0, 0x1000, 8, 1);
        }
        MemorySegment second = at(at(chain.first()).get(JAVA_LONG, SendWr.NEXT));
        MemorySegment third = at(second.get(JAVA_LONG, SendWr.NEXT));
        assertEquals(1, second.get(JAVA_LONG, SendWr.WR_ID));
        assertEquals(2, third.get(JAVA_LONG, SendWr.WR_ID));
        assertEquals(0, third.get(JAVA_LONG, SendWr.NEXT));

        chain.clear();
        chain.add(9, Opcode.SEND, 0, 0x1000, 8, 1);
        chain.add(10, Opcode.SEND, 0, 0x1000, 8, 1);
        second = at(at(chain.first()).get(JAVA_LONG, SendWr.NEXT));
        assertEquals(10, second.get(JAVA_LONG, SendWr.WR_ID));
        assertEquals(0, second.get(JAVA_LONG, SendWr.NEXT));
    }

    @Test
    void shouldCountTheRequestsBeforeTheOneThatTheDeviceNamesAsBad() {
        for (int i = 0; i < 3; i++) {
            chain.add(i, Opcode.SEND, 0, 0x1000, 8, 1);
        }
        MemorySegment second = at(at(chain.first()).get(JAVA_LONG, SendWr.NEXT));
        Native.at(chain.badWr(), Long.BYTES).set(JAVA_LONG, 0, second.address());

        assertEquals(new Refusal(12, 1, 3), chain.refusal(12));
        assertEquals(new Refusal(12, 3, 3), chain.refusal(12), "the second refusal names no request");
    }

    @Test
    void shouldGatherSeveralEntriesButNoEmptyOne() {
        chain.add(1, Opcode.RDMA_WRITE, 0, 0x1000, 0, 5);
        assertEquals(0, at(chain.first()).get(JAVA_INT, SendWr.NUM_SGE));
        chain.append(0x2000, 16, 6);
        chain.append(0x3000, 32, 7);

        MemorySegment wr = at(chain.first());
        assertEquals(2, wr.get(JAVA_INT, SendWr.NUM_SGE));
        MemorySegment sges = Native.at(wr.get(JAVA_LONG, SendWr.SG_LIST), 2L * Sge.SIZE);
        assertEquals(0x2000, sges.get(JAVA_LONG, Sge.ADDR));
        assertEquals(32, sges.get(JAVA_INT, Sge.SIZE + Sge.LENGTH));
        assertThrows(IllegalStateException.class, () -> chain.append(0x4000, 1, 8));
    }

    @Test
    void shouldCopyInlineDataIntoOnePiece() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocateFrom(JAVA_BYTE, new byte[] {1, 2, 3, 4, 5});
            chain.add(1, Opcode.SEND, SendFlag.INLINE, data.address(), 3, 0);
            chain.append(data.address() + 3, 2, 0);
            data.fill((byte) 0);

            MemorySegment wr = at(chain.first());
            assertEquals(1, wr.get(JAVA_INT, SendWr.NUM_SGE));
            MemorySegment sge = Native.at(wr.get(JAVA_LONG, SendWr.SG_LIST), Sge.SIZE);
            assertEquals(5, sge.get(JAVA_INT, Sge.LENGTH));
            assertArrayEquals(
                    new byte[] {1, 2, 3, 4, 5},
                    Native.at(sge.get(JAVA_LONG, Sge.ADDR), 5).toArray(JAVA_BYTE));
            assertThrows(VerbsException.class, () -> chain.append(data.address(), 12, 0));
        }
    }

    @Test
    void shouldRefuseInlineDataOfARead() {
        assertThrows(
                IllegalArgumentException.class, () -> chain.add(1, Opcode.RDMA_READ, SendFlag.INLINE, 0x1000, 8, 0));
        assertEquals(0, chain.count());
    }

    private static MemorySegment at(long address) {
        return Native.at(address, SendWr.SIZE);
    }
}
