package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A set of descriptors to wait for with poll(2). It is made once and waited on repeatedly, by one thread at a time.
 * Only {@link #add} allocates, when there are more descriptors than ever before.
 *
 * <pre>{@code struct pollfd { int fd; short events; short revents; };}</pre>
 */
public final class PollSet {
    public static final int POLLIN = 0x1;
    public static final int POLLOUT = 0x4;
    public static final int POLLERR = 0x8;
    /** The peer sends nothing more. */
    public static final int POLLRDHUP = 0x2000;

    private static final int ENTRY = 8;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private static final MethodHandle ppoll$mh =
            Libc.capturing("ppoll", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));

    private MemorySegment entries;
    private final MemorySegment timeout;
    private final Errno errno = Errno.create();
    private int count;

    /** @param expected how many descriptors it has memory for at first */
    public PollSet(int expected) {
        this.entries = Arena.ofAuto().allocate((long) Math.max(1, expected) * ENTRY, 8);
        this.timeout = Arena.ofAuto().allocate(16, 8);
    }

    public void clear() {
        count = 0;
    }

    /** How many descriptors there are. */
    public int size() {
        return count;
    }

    /**
     * Adds a descriptor.
     *
     * @return its index, which is how many there were before
     * @param events {@link #POLLIN}, {@link #POLLOUT}, {@link #POLLRDHUP}
     */
    public int add(int fd, int events) {
        long at = (long) count * ENTRY;
        if (at == entries.byteSize()) {
            entries = Arena.ofAuto().allocate(2 * at, 8).copyFrom(entries);
        }
        entries.set(JAVA_INT, at, fd);
        entries.set(JAVA_SHORT, at + 4, (short) events);
        entries.set(JAVA_SHORT, at + 6, (short) 0);
        return count++;
    }

    /** What the last wait found at the descriptor with {@code index}, or-ed together. */
    public int ready(int index) {
        return Short.toUnsignedInt(entries.get(JAVA_SHORT, (long) index * ENTRY + 6));
    }

    /**
     * Waits until a descriptor is ready.
     *
     * @param timeoutNanos nanoseconds to wait at most; negative to wait without limit
     * @return how many are ready, 0 after the timeout, or a negative error number
     */
    public int await(long timeoutNanos) {
        timeout.set(JAVA_LONG, 0, timeoutNanos / NANOS_PER_SECOND);
        timeout.set(JAVA_LONG, 8, timeoutNanos % NANOS_PER_SECOND);
        try {
            // SAFETY: entries holds count entries; both segments live as long as this.
            return errno.check((int) ppoll$mh.invokeExact(
                    errno.segment(), entries.address(), (long) count, timeoutNanos < 0 ? 0L : timeout.address(), 0L));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
