package io.farpage.verbs.contract;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.linux.Errno;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Compare-and-swap and fetch-and-add of 8 bytes at the peer. */
public abstract class AtomicContract {
    protected abstract VerbsFixture open();

    private Connected connect() {
        Connected pair = new Connected(open(), Connected.OPTIONS);
        if (!pair.a.device.attributes().atomics() || !pair.b.device.attributes().atomics()) {
            pair.close();
            Assumptions.abort("the device has no atomic operations");
        }
        return pair;
    }

    private static void add(Connected pair, long wrId, long offset, long addend) {
        pair.qpA.prepareFetchAndAdd(
                wrId,
                pair.a.address(0),
                pair.a.region.lkey(),
                pair.b.address(offset),
                pair.b.region.rkey(),
                addend,
                SendFlag.SIGNALED);
        pair.qpA.postSend();
    }

    private static void swap(Connected pair, long wrId, long expected, long desired) {
        pair.qpA.prepareCompareAndSwap(
                wrId,
                pair.a.address(0),
                pair.a.region.lkey(),
                pair.b.address(64),
                pair.b.region.rkey(),
                expected,
                desired,
                SendFlag.SIGNALED);
        pair.qpA.postSend();
    }

    @Test
    void shouldFetchAndAdd() {
        try (Connected pair = connect()) {
            pair.b.memory.set(JAVA_LONG, 64, 0x0102_0304_0506_0708L);
            add(pair, 1, 64, -3);
            assertEquals(WcOpcode.FETCH_ADD, pair.a.polling().success(1).opcode());
            assertEquals(0x0102_0304_0506_0708L, pair.a.memory.get(JAVA_LONG, 0));
            assertEquals(0x0102_0304_0506_0705L, pair.b.memory.get(JAVA_LONG, 64));
        }
    }

    @Test
    void shouldSwapOnlyWhatIsAsExpected() {
        try (Connected pair = connect()) {
            pair.b.memory.set(JAVA_LONG, 64, 41);
            swap(pair, 1, 40, 99);
            assertEquals(WcOpcode.COMP_SWAP, pair.a.polling().success(1).opcode());
            assertEquals(41, pair.a.memory.get(JAVA_LONG, 0));
            assertEquals(41, pair.b.memory.get(JAVA_LONG, 64));
            swap(pair, 2, 41, 99);
            pair.a.polling().success(2);
            assertEquals(41, pair.a.memory.get(JAVA_LONG, 0));
            assertEquals(99, pair.b.memory.get(JAVA_LONG, 64));
        }
    }

    @Test
    void shouldRefuseAnUnalignedAddress() {
        try (Connected pair = connect()) {
            pair.b.memory.set(JAVA_LONG, 64, 5);
            if (pair.fixture.refusesUnalignedAtomicWhenPosted()) {
                VerbsException refused = assertThrows(VerbsException.class, () -> add(pair, 1, 60, 1));
                assertEquals(Errno.EINVAL, refused.errno());
                pair.requireWorking();
            } else {
                add(pair, 1, 60, 1);
                WorkCompletion completion = pair.a.polling().next();
                assertEquals(WcStatus.REM_INV_REQ_ERR, completion.status());
            }
            assertEquals(5, pair.b.memory.get(JAVA_LONG, 64));
        }
    }

    @Test
    void shouldLoseNoUpdateBetweenTwoQueuePairs() {
        try (Connected pair = connect()) {
            QueuePair secondA = pair.a.queuePair(Connected.OPTIONS);
            QueuePair secondB = pair.b.queuePair(Connected.OPTIONS);
            Connected.connect(secondA, secondB);
            pair.b.memory.set(JAVA_LONG, 64, 0);
            int rounds = 500;
            for (int i = 0; i < rounds; i++) {
                add(pair, 1, 64, 1);
                secondA.prepareFetchAndAdd(
                        2,
                        pair.a.address(8),
                        pair.a.region.lkey(),
                        pair.b.address(64),
                        pair.b.region.rkey(),
                        1,
                        SendFlag.SIGNALED);
                secondA.postSend();
                pair.a.polling().next(2).forEach(c -> assertEquals(WcStatus.SUCCESS, c.status(), c::toString));
            }
            assertEquals(2L * rounds, pair.b.memory.get(JAVA_LONG, 64));
        }
    }
}
