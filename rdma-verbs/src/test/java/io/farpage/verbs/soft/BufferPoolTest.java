package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.verbs.QueueFullException;
import io.farpage.verbs.VerbsException;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

final class BufferPoolTest {
    private final BufferPool pool = new BufferPool();
    private final BufferPool.Lease lease = pool.lease();

    @Test
    void shouldGiveABufferToOneOwnerAtATime() {
        MemorySegment first = lease.allocate(64, 8);
        MemorySegment second = pool.lease().allocate(64, 8);

        assertNotEquals(first.address(), second.address());
        assertEquals(128, pool.bytes());
        assertEquals(128, pool.taken());
    }

    @Test
    void shouldGiveAReleasedBufferToTheNextOwner() {
        MemorySegment first = lease.allocate(64, 8);
        lease.release();
        assertEquals(0, pool.taken());
        MemorySegment second = pool.lease().allocate(64, 8);

        assertEquals(first.address(), second.address());
        assertEquals(64, pool.bytes());
        assertEquals(64, pool.taken());
    }

    @Test
    void shouldClearAReleasedBuffer() {
        MemorySegment buffer = lease.allocate(64, 8);
        buffer.fill((byte) 1);
        lease.release();

        assertEquals(-1, buffer.mismatch(MemorySegment.ofArray(new byte[64])));
    }

    @Test
    void shouldNotReleaseABufferTwice() {
        lease.allocate(64, 8);
        lease.release();
        lease.release();
        pool.lease().allocate(64, 8);
        pool.lease().allocate(64, 8);

        assertEquals(128, pool.bytes());
    }

    @Test
    void shouldKeepBuffersOfOtherSizesApart() {
        lease.allocate(64, 8);
        lease.release();

        assertEquals(128, pool.lease().allocate(128, 64).byteSize());
        assertEquals(192, pool.bytes());
    }

    @Test
    void shouldPrepareNothingOnASendQueueWhoseMemoryIsGivenBack() {
        SendQueue sends = new SendQueue("a test", 1, 1, 0, lease);
        sends.prepare(1, Wire.READ, 0, 64, 0, 0, 0, 0);
        assertThrows(QueueFullException.class, () -> sends.prepare(2, Wire.READ, 0, 64, 0, 0, 0, 0));
        sends.close();

        VerbsException closed =
                assertThrows(VerbsException.class, () -> sends.prepare(3, Wire.READ, 0, 64, 0, 0, 0, 0));
        assertEquals("prepare on a test: it is closed", closed.getMessage());
        assertThrows(IllegalStateException.class, () -> sends.append(0, 64, 0));
    }
}
