package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory is accessible by the right key, within its bounds, for what it was registered for, and not otherwise. */
public abstract class ProtectionContract {
    private static final int LENGTH = 4096;

    protected abstract VerbsFixture open();

    /** Reads LENGTH bytes and expects a refusal: this side's memory untouched, both queue pairs in ERR. */
    private static void refuseRead(Connected pair, long remoteAddress, int rkey) {
        pair.a.fill(0, LENGTH, 3);
        pair.receive(50, 600_000, 8);
        pair.qpA.prepareRead(
                1, pair.a.address(0), LENGTH, pair.a.region.lkey(), remoteAddress, rkey, SendFlag.SIGNALED);
        pair.qpA.prepareRead(
                2,
                pair.a.address(0),
                LENGTH,
                pair.a.region.lkey(),
                pair.b.address(0),
                pair.b.region.rkey(),
                SendFlag.SIGNALED);
        pair.qpA.postSend();
        pair.a.polling().expect(1, WcStatus.REM_ACCESS_ERR);
        pair.a.polling().expect(2, WcStatus.WR_FLUSH_ERR);
        assertEquals(-1, pair.a.mismatch(0, LENGTH, 3));
        Connected.awaitError(pair.qpA);
        pair.b.polling().expect(50, WcStatus.WR_FLUSH_ERR);
        Connected.awaitError(pair.qpB);
    }

    @Test
    void shouldRefuseReadWithAnUnknownKey() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            refuseRead(pair, pair.b.address(0), pair.b.region.rkey() ^ 0x0100_0000);
        }
    }

    @ParameterizedTest
    @ValueSource(
            longs = {
                -1,
                -4096,
                Side.MEMORY - LENGTH + 1,
                Side.MEMORY,
                Side.MEMORY + 4096L,
                1L << 40,
                Long.MAX_VALUE,
                Long.MIN_VALUE
            })
    void shouldRefuseReadBeyondRegion(long offset) {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            refuseRead(pair, pair.b.address(0) + offset, pair.b.region.rkey());
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MAX_VALUE - LENGTH, Long.MAX_VALUE, 0})
    void shouldRefuseReadAtAnyAddressThatOverflows(long address) {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            refuseRead(pair, address, pair.b.region.rkey());
        }
    }

    @Test
    void shouldRefuseReadOfARegionWithoutRemoteRead() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemorySegment memory = pair.b.allocate(LENGTH);
            MemoryRegion region = pair.b.register(memory, EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
            refuseRead(pair, memory.address(), region.rkey());
        }
    }

    @Test
    void shouldRefuseReadOfARegionOfAnotherDomain() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            ProtectionDomain other = pair.b.keep(pair.b.device.allocateProtectionDomain());
            MemorySegment memory = pair.b.allocate(LENGTH);
            MemoryRegion region = pair.b.keep(other.registerMemory(memory, Side.ALL));
            refuseRead(pair, memory.address(), region.rkey());
        }
    }

    @Test
    void shouldRefuseReadOfADeregisteredRegion() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemorySegment memory = pair.b.allocate(LENGTH);
            MemoryRegion region = pair.b.register(memory, Side.ALL);
            pair.qpA.prepareRead(
                    9,
                    pair.a.address(0),
                    LENGTH,
                    pair.a.region.lkey(),
                    memory.address(),
                    region.rkey(),
                    SendFlag.SIGNALED);
            pair.qpA.postSend();
            pair.a.polling().success(9);
            region.close();
            region.close();
            refuseRead(pair, memory.address(), region.rkey());
        }
    }

    @Test
    void shouldRefuseWriteToARegionWithoutRemoteWrite() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemorySegment memory = pair.b.allocate(LENGTH);
            MemoryRegion region = pair.b.register(memory, EnumSet.of(AccessFlag.REMOTE_READ));
            pair.a.fill(0, LENGTH, 3);
            pair.qpA.prepareWrite(
                    1,
                    pair.a.address(0),
                    LENGTH,
                    pair.a.region.lkey(),
                    memory.address(),
                    region.rkey(),
                    SendFlag.SIGNALED);
            pair.qpA.postSend();
            pair.a.polling().expect(1, WcStatus.REM_ACCESS_ERR);
            assertEquals(-1, memory.mismatch(Arena.ofAuto().allocate(LENGTH)));
            Connected.awaitError(pair.qpB);
        }
    }

    @Test
    void shouldRefuseAWriteThatIsLongerThanItsRegion() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemorySegment memory = pair.b.allocate(3 * LENGTH);
            MemoryRegion region = pair.b.register(memory.asSlice(LENGTH, LENGTH), Side.ALL);
            pair.a.fill(0, Side.MEMORY, 3);
            pair.qpA.prepareWrite(
                    1,
                    pair.a.address(0),
                    Side.MEMORY,
                    pair.a.region.lkey(),
                    region.address(),
                    region.rkey(),
                    SendFlag.SIGNALED);
            pair.qpA.postSend();
            pair.a.polling().expect(1, WcStatus.REM_ACCESS_ERR);
            Connected.awaitError(pair.qpB);
            MemorySegment zeros = Arena.ofAuto().allocate(LENGTH);
            assertEquals(-1, memory.asSlice(0, LENGTH).mismatch(zeros));
            assertEquals(-1, memory.asSlice(2 * LENGTH, LENGTH).mismatch(zeros));
        }
    }

    @Test
    void shouldRefuseWhatTheQueuePairDoesNotPermit() {
        Set<AccessFlag> none = EnumSet.of(AccessFlag.LOCAL_WRITE);
        try (Connected pair = new Connected(open(), Connected.OPTIONS, Connected.withAccess(none))) {
            pair.read(1, 0, 0, LENGTH);
            WorkCompletion completion = pair.a.polling().next();
            // The specification counts this as an invalid request; some devices report it as an access error.
            assertTrue(
                    EnumSet.of(WcStatus.REM_INV_REQ_ERR, WcStatus.REM_ACCESS_ERR)
                            .contains(completion.status()),
                    completion::toString);
        }
    }

    @Test
    void shouldFailAReadIntoMemoryThatIsNotWritable() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemorySegment memory = pair.a.allocate(LENGTH);
            MemoryRegion readOnly = pair.a.register(memory, EnumSet.of(AccessFlag.REMOTE_READ));
            pair.b.fill(0, LENGTH, 1);
            pair.qpA.prepareRead(
                    1,
                    memory.address(),
                    LENGTH,
                    readOnly.lkey(),
                    pair.b.address(0),
                    pair.b.region.rkey(),
                    SendFlag.SIGNALED);
            pair.qpA.postSend();
            pair.a.polling().expect(1, pair.fixture.reported(WcStatus.LOC_PROT_ERR));
            Connected.awaitError(pair.qpA);
            assertEquals(-1, memory.mismatch(Arena.ofAuto().allocate(LENGTH)));
        }
    }

    @Test
    void shouldCompleteWhatWasBeforeAWorkRequestWithABadLocalKey() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            int good = pair.a.region.lkey();
            int rkey = pair.b.region.rkey();
            pair.qpA.prepareRead(1, pair.a.address(0), 8, good, pair.b.address(0), rkey, SendFlag.SIGNALED);
            boolean inOneChain = pair.fixture.takesAnswersAfterALocalError();
            if (!inOneChain) {
                pair.qpA.postSend();
                pair.a.polling().success(1);
            }
            pair.qpA.prepareWrite(
                    2, pair.a.address(0), 8, good ^ 0x0100_0000, pair.b.address(0), rkey, SendFlag.SIGNALED);
            pair.qpA.prepareRead(3, pair.a.address(0), 8, good, pair.b.address(0), rkey, SendFlag.SIGNALED);
            pair.qpA.postSend();
            if (inOneChain) {
                pair.a.polling().success(1);
            }
            pair.a.polling().expect(2, pair.fixture.reported(WcStatus.LOC_PROT_ERR));
            pair.a.polling().expect(3, WcStatus.WR_FLUSH_ERR);
        }
    }

    @Test
    void shouldFailASendThatReachesBeyondItsLocalRegion() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.receive(1, 0, 16);
            pair.send(2, Side.MEMORY - 8, 16);
            pair.a.polling().expect(2, pair.fixture.reported(WcStatus.LOC_PROT_ERR));
        }
    }

    @Test
    void shouldRefuseToRegisterWhatIsNotNativeOrContradictory() {
        try (VerbsFixture fixture = open();
                Side side = new Side(fixture.a())) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> side.domain.registerMemory(MemorySegment.ofArray(new byte[16]), Side.ALL));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> side.domain.registerMemory(
                            side.memory.asSlice(0, 4096), EnumSet.of(AccessFlag.REMOTE_WRITE)));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> side.domain.registerMemory(side.memory.asSlice(0, 0), Side.ALL));
        }
    }

    @Test
    void shouldKeepOtherQueuePairsOfTheDomainWorkingAfterARefusal() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            CompletionQueue extra = pair.a.keep(pair.a.device.createCompletionQueue(256));
            var otherA = pair.a.keep(pair.a.domain.createQueuePair(extra, extra, Connected.OPTIONS));
            var otherB = pair.b.queuePair(Connected.OPTIONS);
            Connected.connect(otherA, otherB);
            refuseRead(pair, pair.b.address(-8), pair.b.region.rkey());
            pair.b.fill(0, LENGTH, 8);
            otherA.prepareRead(
                    1,
                    pair.a.address(0),
                    LENGTH,
                    pair.a.region.lkey(),
                    pair.b.address(0),
                    pair.b.region.rkey(),
                    SendFlag.SIGNALED);
            otherA.postSend();
            new Polling(extra).success(1);
            assertEquals(-1, pair.a.mismatch(0, LENGTH, 8));
        }
    }
}
