package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** A descriptor that is readable while one of those it watches is ready (epoll(7)). Level-triggered. */
public final class Epoll implements AutoCloseable {
    public static final int EPOLLIN = 0x1;
    public static final int EPOLLOUT = 0x4;

    private static final int EPOLL_CLOEXEC = 0x80000;
    private static final int EPOLL_CTL_ADD = 1;
    private static final int EPOLL_CTL_DEL = 2;
    private static final int EPOLL_CTL_MOD = 3;

    /** Number of epoll_pwait2 on every architecture; called by number because glibc has it by name only since 2.35. */
    private static final long SYS_EPOLL_PWAIT2 = 441;

    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final boolean PACKED = System.getProperty("os.arch", "").equals("amd64");

    /** {@code struct epoll_event { uint32_t events; epoll_data_t data; }}, packed on x86-64 only. */
    private static final int EVENT_SIZE = PACKED ? 12 : 16;

    private static final int EVENT_DATA = PACKED ? 4 : 8;

    private static final MethodHandle epoll_create1$mh =
            Libc.capturing("epoll_create1", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle epoll_ctl$mh =
            Libc.capturing("epoll_ctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));

    private static final MethodHandle syscall$mh = Libc.capturing(
            "syscall",
            FunctionDescriptor.of(
                    JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
            1);

    private final int fd;
    private final int capacity;
    private final MemorySegment events;
    private final MemorySegment timeout = Arena.ofAuto().allocate(16, 8);
    private boolean closed;

    /** @param capacity descriptors that one {@link #await} can report */
    public Epoll(int capacity) {
        this.capacity = capacity;
        this.events = Arena.ofAuto().allocate((long) capacity * EVENT_SIZE, 8);
        Errno errno = Errno.create();
        try {
            fd = errno.require((int) epoll_create1$mh.invokeExact(errno.segment(), EPOLL_CLOEXEC), "epoll_create1");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    public int fd() {
        return fd;
    }

    /**
     * Watches {@code target}.
     *
     * @param events {@link #EPOLLIN}, {@link #EPOLLOUT}; 0 for errors and hang-ups only
     */
    public void add(int target, int events) {
        control(EPOLL_CTL_ADD, target, events);
    }

    /** Watches {@code target} for other events than before. */
    public void modify(int target, int events) {
        control(EPOLL_CTL_MOD, target, events);
    }

    public void remove(int target) {
        control(EPOLL_CTL_DEL, target, 0);
    }

    private void control(int operation, int target, int interest) {
        Errno errno = Errno.create();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = arena.allocate(16, 8);
            event.set(JAVA_INT, 0, interest);
            event.set(JAVA_INT_UNALIGNED, EVENT_DATA, target);
            int result = (int) epoll_ctl$mh.invokeExact(errno.segment(), fd, operation, target, event.address());
            errno.require(result, "epoll_ctl(fd " + target + ")");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Waits until a watched descriptor is ready. By one thread at a time; allocates nothing.
     *
     * @param timeoutNanos nanoseconds to wait at most; negative to wait without limit
     * @return how many are ready, 0 after the timeout, or a negative error number
     */
    public int await(Errno errno, long timeoutNanos) {
        timeout.set(JAVA_LONG, 0, timeoutNanos / NANOS_PER_SECOND);
        timeout.set(JAVA_LONG, 8, timeoutNanos % NANOS_PER_SECOND);
        try {
            // SAFETY: events holds capacity entries; both segments live as long as this.
            return (int) errno.check((long) syscall$mh.invokeExact(
                    errno.segment(),
                    SYS_EPOLL_PWAIT2,
                    (long) fd,
                    events.address(),
                    (long) capacity,
                    timeoutNanos < 0 ? 0L : timeout.address(),
                    0L,
                    0L));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** The descriptor at {@code index} of those that the last {@link #await} reported. */
    public int ready(int index) {
        return events.get(JAVA_INT_UNALIGNED, (long) index * EVENT_SIZE + EVENT_DATA);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            FileIo.close(Errno.create(), fd);
        }
    }
}
