package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A descriptor that one thread makes readable and another waits for (eventfd(2)). Never blocks. Allocates nothing after
 * it is made.
 */
public final class EventFd implements AutoCloseable {
    private static final int EFD_NONBLOCK = 0x800;
    private static final int EFD_CLOEXEC = 0x80000;

    private static final MethodHandle eventfd$mh =
            Libc.capturing("eventfd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));

    private final int fd;
    private final MemorySegment one = Arena.ofAuto().allocateFrom(JAVA_LONG, 1L);
    private final MemorySegment count = Arena.ofAuto().allocate(JAVA_LONG);
    private boolean closed;

    public EventFd() {
        Errno errno = Errno.create();
        try {
            fd = errno.require((int) eventfd$mh.invokeExact(errno.segment(), 0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    public int fd() {
        return fd;
    }

    /**
     * Makes the descriptor readable; nothing happens once it is closed, since another file may have its number by then.
     * From any thread, with that thread's {@code errno}.
     */
    public synchronized void signal(Errno errno) {
        if (!closed) {
            FileIo.write(errno, fd, one.address(), Long.BYTES);
        }
    }

    /**
     * Makes the descriptor unreadable. By one thread at a time.
     *
     * @return whether it was readable
     */
    public boolean drain(Errno errno) {
        return FileIo.read(errno, fd, count.address(), Long.BYTES) == Long.BYTES;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            FileIo.close(Errno.create(), fd);
        }
    }
}
