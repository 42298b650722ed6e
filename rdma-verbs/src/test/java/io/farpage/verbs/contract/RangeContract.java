package io.farpage.verbs.contract;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Ranges of memory that is registered already, each with a key of its own, as a home registers them for each attached
 * node.
 */
public abstract class RangeContract {
    private static final int LENGTH = 4096;
    private static final int OFFSET = 16 * LENGTH;
    private static final int DEPTH = 16;
    private static final Set<AccessFlag> GRANT =
            Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);

    protected abstract VerbsFixture open();

    private static MemoryRegion range(Connected pair) {
        return pair.b.register(pair.b.memory.asSlice(OFFSET, LENGTH), GRANT);
    }

    private static void read(Connected pair, long wrId, long address, int rkey) {
        pair.qpA.prepareRead(wrId, pair.a.address(0), LENGTH, pair.a.region.lkey(), address, rkey, SendFlag.SIGNALED);
        pair.qpA.postSend();
    }

    private static void write(Connected pair, long wrId, long address, int rkey) {
        pair.qpA.prepareWrite(wrId, pair.a.address(0), LENGTH, pair.a.region.lkey(), address, rkey, SendFlag.SIGNALED);
        pair.qpA.postSend();
    }

    @Test
    void shouldKeepOtherKeysOfTheSameBytesWorkingWhenOneIsRevoked() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemoryRegion first = range(pair);
            MemoryRegion second = range(pair);
            assertNotEquals(first.rkey(), second.rkey());
            pair.b.fill(OFFSET, LENGTH, 5);
            read(pair, 1, first.address(), first.rkey());
            pair.a.polling().success(1);
            assertEquals(-1, pair.a.mismatch(0, LENGTH, 5));

            first.close();

            pair.a.fill(0, LENGTH, 9);
            read(pair, 2, second.address(), second.rkey());
            pair.a.polling().success(2);
            assertEquals(-1, pair.a.mismatch(0, LENGTH, 5));
            pair.a.fill(0, LENGTH, 9);
            read(pair, 3, first.address(), first.rkey());
            pair.a.polling().expect(3, WcStatus.REM_ACCESS_ERR);
            assertEquals(-1, pair.a.mismatch(0, LENGTH, 9));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 1, -LENGTH, LENGTH})
    void shouldReadNothingOutsideOfTheRange(long beside) {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemoryRegion region = range(pair);
            pair.a.fill(0, LENGTH, 9);
            read(pair, 1, region.address() + beside, region.rkey());
            pair.a.polling().expect(1, WcStatus.REM_ACCESS_ERR);
            assertEquals(-1, pair.a.mismatch(0, LENGTH, 9));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 1, -LENGTH, LENGTH})
    void shouldWriteNothingOutsideOfTheRange(long beside) {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemoryRegion region = range(pair);
            byte[] before = pair.b.memory.toArray(JAVA_BYTE);
            pair.a.fill(0, LENGTH, 9);
            write(pair, 1, region.address() + beside, region.rkey());
            pair.a.polling().expect(1, WcStatus.REM_ACCESS_ERR);
            assertEquals(-1, pair.b.memory.mismatch(MemorySegment.ofArray(before)));
        }
    }

    /**
     * Requests are under way all the time: what is written to the memory after the revocation is never read with the
     * old key.
     */
    @Test
    void shouldExecuteNoReadAfterTheKeyIsRevokedWhileReadsAreUnderWay() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemoryRegion region = range(pair);
            int rkey = region.rkey();
            MemorySegment target = pair.b.memory.asSlice(OFFSET, LENGTH);
            target.fill((byte) 1);
            Thread revoker = new Thread(() -> {
                region.close();
                target.fill((byte) 2);
            });
            WcStatus last = WcStatus.SUCCESS;
            long done = 0;
            for (int i = 0; i < DEPTH; i++) {
                read(pair, i, target.address(), rkey);
            }
            while (last == WcStatus.SUCCESS) {
                WorkCompletion completion = pair.a.polling().next();
                last = completion.status();
                if (last == WcStatus.SUCCESS) {
                    requireNone((byte) 2, pair.a.memory.asSlice(0, LENGTH));
                    read(pair, done, target.address(), rkey);
                }
                if (++done == 10 * DEPTH) {
                    revoker.start();
                }
                assertTrue(done < 10_000_000, "reads succeed for ever");
            }
            assertEquals(WcStatus.REM_ACCESS_ERR, last);
            requireNone((byte) 2, pair.a.memory.asSlice(0, LENGTH));
            join(revoker);
        }
    }

    /** The same the other way round: what is in the memory after the revocation stays there. */
    @Test
    void shouldExecuteNoWriteAfterTheKeyIsRevokedDuringWrites() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            MemoryRegion region = range(pair);
            int rkey = region.rkey();
            MemorySegment target = pair.b.memory.asSlice(OFFSET, LENGTH);
            pair.a.memory.fill((byte) 3);
            Thread revoker = new Thread(() -> {
                region.close();
                target.fill((byte) 2);
            });
            WcStatus last = WcStatus.SUCCESS;
            long done = 0;
            for (int i = 0; i < DEPTH; i++) {
                write(pair, i, target.address(), rkey);
            }
            while (last == WcStatus.SUCCESS) {
                last = pair.a.polling().next().status();
                if (last == WcStatus.SUCCESS) {
                    write(pair, done, target.address(), rkey);
                }
                if (++done == 10 * DEPTH) {
                    revoker.start();
                }
                assertTrue(done < 10_000_000, "writes succeed for ever");
            }
            assertEquals(WcStatus.REM_ACCESS_ERR, last);
            join(revoker);
            MemorySegment expected = Arena.ofAuto().allocate(LENGTH);
            expected.fill((byte) 2);
            assertEquals(-1, target.mismatch(expected), "bytes that were written after the revocation");
        }
    }

    private static void requireNone(byte unwanted, MemorySegment in) {
        for (long i = 0; i < in.byteSize(); i++) {
            if (in.get(JAVA_BYTE, i) == unwanted) {
                throw new AssertionError("byte " + i + " was read after the revocation");
            }
        }
    }

    private static void join(Thread thread) {
        try {
            Deadlines.join("the end of the thread", Deadlines.SHORT, thread);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        assertFalse(thread.isAlive());
    }
}
