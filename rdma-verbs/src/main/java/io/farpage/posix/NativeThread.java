package io.farpage.posix;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The kernel's view of the current platform thread (sched_setaffinity(2), sched_setscheduler(2), gettid(2)). */
public final class NativeThread {
    /** CPUs that an affinity mask here can name. */
    public static final int MAX_CPUS = 1024;

    private static final int SCHED_OTHER = 0;
    private static final int SCHED_FIFO = 1;

    private static final MethodHandle gettid$mh = Libc.plain("gettid", FunctionDescriptor.of(JAVA_INT));
    private static final MethodHandle geteuid$mh = Libc.plain("geteuid", FunctionDescriptor.of(JAVA_INT));
    private static final MethodHandle sched_setaffinity$mh =
            Libc.capturing("sched_setaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle sched_setscheduler$mh =
            Libc.capturing("sched_setscheduler", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));

    private NativeThread() {}

    /** The kernel's id of the current thread. */
    public static int id() {
        try {
            return (int) gettid$mh.invokeExact();
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** The effective user id of the process (geteuid(2)). */
    public static int effectiveUser() {
        try {
            return (int) geteuid$mh.invokeExact();
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Binds the current thread to one CPU.
     *
     * @param cpu 0 to {@link #MAX_CPUS} - 1
     * @throws PosixException with EINVAL if there is no such CPU or it is not permitted here
     */
    public static void pinTo(int cpu) {
        if (cpu < 0 || cpu >= MAX_CPUS) {
            throw new IllegalArgumentException("cpu " + cpu + " is not within 0.." + (MAX_CPUS - 1));
        }
        Errno errno = Errno.create();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(MAX_CPUS / 8, 8);
            mask.setAtIndex(JAVA_LONG, cpu / 64, 1L << (cpu % 64));
            int result = (int) sched_setaffinity$mh.invokeExact(errno.segment(), 0, mask.byteSize(), mask.address());
            errno.require(result, "sched_setaffinity(cpu " + cpu + ")");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Gives the current thread a real-time priority: it runs before every ordinary thread, until it blocks.
     *
     * @param priority 1 to 99; 0 makes it an ordinary thread again
     * @throws PosixException with EPERM without CAP_SYS_NICE or a sufficient RLIMIT_RTPRIO
     */
    public static void realTimePriority(int priority) {
        if (priority < 0 || priority > 99) {
            throw new IllegalArgumentException("priority " + priority + " is not within 0..99");
        }
        Errno errno = Errno.create();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment param = arena.allocateFrom(JAVA_INT, priority);
            int policy = priority == 0 ? SCHED_OTHER : SCHED_FIFO;
            int result = (int) sched_setscheduler$mh.invokeExact(errno.segment(), 0, policy, param.address());
            errno.require(result, "sched_setscheduler(priority " + priority + ")");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
