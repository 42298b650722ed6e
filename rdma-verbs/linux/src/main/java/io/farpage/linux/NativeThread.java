package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The kernel's view of the current platform thread (sched_setaffinity(2), sched_setscheduler(2), gettid(2)). */
public final class NativeThread {
    /** CPUs that the affinity mask has bits for. */
    public static final int MAX_CPUS = 1024;

    static final int SCHED_OTHER = 0;
    static final int SCHED_FIFO = 1;

    /** Threads that this one starts do not inherit its priority. */
    private static final long SCHED_FLAG_RESET_ON_FORK = 1;

    private static final boolean ARM = System.getProperty("os.arch", "").equals("aarch64");
    private static final long SYS_SCHED_SETATTR = ARM ? 274 : 314;
    private static final long SYS_SCHED_GETATTR = ARM ? 275 : 315;
    private static final int CLOCK_THREAD_CPUTIME_ID = 3;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    /** One per thread, so that a call allocates nothing: a thread changes its priority several times a second. */
    private static final ThreadLocal<MemorySegment> ATTRIBUTES =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(Attributes.SIZE, 8));

    private static final ThreadLocal<MemorySegment> TIMESPEC =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(16, 8));

    private static final MethodHandle gettid$mh = Libc.plain("gettid", FunctionDescriptor.of(JAVA_INT));
    private static final MethodHandle geteuid$mh = Libc.plain("geteuid", FunctionDescriptor.of(JAVA_INT));
    private static final MethodHandle sched_setaffinity$mh =
            Libc.capturing("sched_setaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final FunctionDescriptor SCHED_SETATTR =
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    /** glibc has had wrappers of sched_setattr and sched_getattr since 2.41 only. */
    private static final MethodHandle sched_setattr$mh =
            Libc.plain("syscall", SCHED_SETATTR, Linker.Option.firstVariadicArg(1));
    /** The same, for one that has failed: tries once more and captures why. */
    private static final MethodHandle sched_setattr_errno$mh = Libc.capturing("syscall", SCHED_SETATTR, 1);

    private static final MethodHandle sched_getattr$mh = Libc.capturing(
            "syscall", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG), 1);
    private static final MethodHandle clock_gettime$mh =
            Libc.plain("clock_gettime", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle sched_getcpu$mh = Libc.plain("sched_getcpu", FunctionDescriptor.of(JAVA_INT));

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
     * Schedules the current thread (sched_setattr(2)). Allocates nothing unless it fails.
     *
     * @param policy {@link #SCHED_OTHER} or {@link #SCHED_FIFO}
     * @param nice -20 to 19, of SCHED_OTHER
     * @param priority 1 to 99, of SCHED_FIFO
     * @param sliceNanos how long it may run at once, of SCHED_OTHER: 100 us to 100 ms; 0 for the system's; ignored
     *     before Linux 6.12
     * @throws PosixException with EPERM without CAP_SYS_NICE or a sufficient RLIMIT_RTPRIO
     */
    static void schedule(int policy, int nice, int priority, long sliceNanos) {
        MemorySegment attributes = ATTRIBUTES.get();
        attributes.fill((byte) 0);
        attributes.set(JAVA_INT, 0, Attributes.SIZE);
        attributes.set(JAVA_INT, Attributes.POLICY, policy);
        attributes.set(JAVA_LONG, Attributes.FLAGS, SCHED_FLAG_RESET_ON_FORK);
        attributes.set(JAVA_INT, Attributes.NICE, nice);
        attributes.set(JAVA_INT, Attributes.PRIORITY, priority);
        attributes.set(JAVA_LONG, Attributes.RUNTIME, sliceNanos);
        try {
            long result = (long) sched_setattr$mh.invokeExact(SYS_SCHED_SETATTR, 0L, attributes.address(), 0L);
            if (result == -1) {
                Errno errno = Errno.ofThread();
                result = (long) sched_setattr_errno$mh.invokeExact(
                        errno.segment(), SYS_SCHED_SETATTR, 0L, attributes.address(), 0L);
                errno.require((int) result, "sched_setattr(policy %d, priority %d)".formatted(policy, priority));
            }
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** The nice value of the current thread. */
    static int nice() {
        return (int) attribute(Attributes.NICE, Integer.BYTES);
    }

    /** How long the current thread may run at once as an ordinary thread, in nanoseconds; 0 before Linux 6.12. */
    static long sliceNanos() {
        return attribute(Attributes.RUNTIME, Long.BYTES);
    }

    private static long attribute(long offset, int bytes) {
        Errno errno = Errno.ofThread();
        MemorySegment attributes = ATTRIBUTES.get();
        try {
            long result = (long) sched_getattr$mh.invokeExact(
                    errno.segment(), SYS_SCHED_GETATTR, 0L, attributes.address(), (long) Attributes.SIZE, 0L);
            errno.require((int) result, "sched_getattr");
            return bytes == Integer.BYTES ? attributes.get(JAVA_INT, offset) : attributes.get(JAVA_LONG, offset);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * <pre>{@code
     * struct sched_attr { u32 size; u32 sched_policy; u64 sched_flags; s32 sched_nice; u32 sched_priority;
     *                     u64 sched_runtime; u64 sched_deadline; u64 sched_period; };
     * }</pre>
     */
    private static final class Attributes {
        static final int SIZE = 48;
        static final long POLICY = 4;
        static final long FLAGS = 8;
        static final long NICE = 16;
        static final long PRIORITY = 20;
        static final long RUNTIME = 24;

        private Attributes() {}
    }

    /** CPU time that the current thread has used, in nanoseconds (clock_gettime(2)). */
    static long cpuNanos() {
        MemorySegment time = TIMESPEC.get();
        try {
            int _ = (int) clock_gettime$mh.invokeExact(CLOCK_THREAD_CPUTIME_ID, time.address());
            return time.get(JAVA_LONG, 0) * NANOS_PER_SECOND + time.get(JAVA_LONG, 8);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** The CPU that the current thread runs on, below {@link #MAX_CPUS} (sched_getcpu(3)). */
    static int currentCpu() {
        try {
            return Math.floorMod((int) sched_getcpu$mh.invokeExact(), MAX_CPUS);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
