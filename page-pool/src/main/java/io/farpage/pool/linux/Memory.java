package io.farpage.pool.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * Linux's memory calls by their manual-page names, on raw addresses. Thread-safe; each call takes errno into a segment of
 * its own, so all are for the control path. See {@code mmap(2)}, {@code madvise(2)}, {@code mlock(2)}, {@code mbind(2)}.
 */
public final class Memory {
    /** {@code MAP_HUGETLB} of {@code mmap(2)}. */
    public static final int MAP_HUGETLB = 0x40000;

    /** {@code MAP_HUGE_SHIFT}: where the log₂ of the hugepage size goes in the flags of {@code mmap(2)}. */
    public static final int MAP_HUGE_SHIFT = 26;

    /** {@code MADV_DONTFORK}: a child must not get the mapping, or copy-on-write takes pages away from a device. */
    public static final int MADV_DONTFORK = 10;

    /** {@code MADV_HUGEPAGE}: transparent hugepages are welcome. */
    public static final int MADV_HUGEPAGE = 14;

    /** {@code MADV_NOHUGEPAGE}: no transparent hugepages. */
    public static final int MADV_NOHUGEPAGE = 15;

    /** {@code MADV_DONTDUMP}: guests' memory does not belong in core files. */
    public static final int MADV_DONTDUMP = 16;

    /** {@code MADV_POPULATE_WRITE}, Linux 5.14: fault pages in for writing, failure as errno rather than SIGBUS. */
    public static final int MADV_POPULATE_WRITE = 23;

    private static final int PROT_READ_WRITE = 0x1 | 0x2;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x02 | 0x20;
    private static final int MPOL_BIND = 2;
    private static final int O_RDONLY_CLOEXEC = 0x80000;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout CALL_STATE = Linker.Option.captureStateLayout();
    private static final VarHandle errno$vh = CALL_STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private static final MethodHandle mmap$mh = downcall(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle munmap$mh =
            downcall("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle madvise$mh =
            downcall("madvise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private static final MethodHandle mlock$mh =
            downcall("mlock", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle open$mh =
            downcall("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT), Linker.Option.firstVariadicArg(2));
    private static final MethodHandle read$mh =
            downcall("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle close$mh = downcall("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle mbind$mh = downcall(
            "syscall",
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG),
            Linker.Option.firstVariadicArg(1));

    private Memory() {}

    /**
     * Maps private anonymous memory, readable and writable, at an address the kernel picks. Never {@code MAP_NORESERVE}: for
     * hugepages the kernel sets them aside here, so that a lack of them is an error now and not a SIGBUS later.
     *
     * @param length bytes
     * @param extraFlags {@code MAP_HUGETLB} and its size bits, or 0
     */
    public static SystemCall mmap(long length, int extraFlags) {
        return call(state -> (long)
                mmap$mh.invokeExact(state, 0L, length, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS | extraFlags, -1, 0L));
    }

    /** Unmaps; nothing may touch the range afterwards. */
    public static SystemCall munmap(long address, long length) {
        return call(state -> (int) munmap$mh.invokeExact(state, address, length));
    }

    /** Gives one of the {@code MADV_} advices above. */
    public static SystemCall madvise(long address, long length, int advice) {
        return call(state -> (int) madvise$mh.invokeExact(state, address, length, advice));
    }

    /** Locks the range into memory. */
    public static SystemCall mlock(long address, long length) {
        return call(state -> (int) mlock$mh.invokeExact(state, address, length));
    }

    /** Binds the range's pages, not yet touched, to one NUMA node ({@code MPOL_BIND}). */
    public static SystemCall mbind(long address, long length, int node) {
        long number = mbindNumber();
        long words = node / Long.SIZE + 1L;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(JAVA_LONG, words);
            mask.setAtIndex(JAVA_LONG, node / Long.SIZE, 1L << node);
            // The kernel reads one bit fewer than maxnode says.
            long maxNode = words * Long.SIZE + 1;
            return call(state ->
                    (long) mbind$mh.invokeExact(state, number, address, length, (long) MPOL_BIND, mask, maxNode, 0L));
        }
    }

    /**
     * Touches one byte of every page by having the kernel write it: {@code read(2)} from {@code /dev/zero}. A page that cannot
     * be had is EFAULT here, where a store by this process would be a SIGBUS. Puts a zero at the start of each page.
     */
    public static SystemCall touch(long address, long length, long pageBytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment path = arena.allocateFrom("/dev/zero");
            SystemCall opened = call(state -> (int) open$mh.invokeExact(state, path, O_RDONLY_CLOEXEC));
            if (!opened.succeeded()) {
                return opened;
            }
            int fd = (int) opened.value();
            try {
                for (long offset = 0; offset < length; offset += pageBytes) {
                    long at = address + offset;
                    SystemCall touched = call(state -> (long) read$mh.invokeExact(state, fd, at, 1L));
                    if (!touched.succeeded()) {
                        return touched;
                    }
                }
                return new SystemCall(0, 0);
            } finally {
                call(state -> (int) close$mh.invokeExact(state, fd));
            }
        }
    }

    private static long mbindNumber() {
        return switch (System.getProperty("os.arch")) {
            case "amd64" -> 237;
            case "aarch64", "riscv64" -> 235;
            case String other -> throw new UnsupportedOperationException("mbind(2) has no known number on " + other);
        };
    }

    // Calling libc is what this class is for; the descriptors above are checked against the manual pages.
    @SuppressWarnings("restricted")
    private static MethodHandle downcall(String name, FunctionDescriptor descriptor, Linker.Option... options) {
        Linker.Option[] all = new Linker.Option[options.length + 1];
        System.arraycopy(options, 0, all, 0, options.length);
        all[options.length] = Linker.Option.captureCallState("errno");
        MemorySegment symbol = LINKER.defaultLookup()
                .find(name)
                .orElseThrow(() -> new UnsupportedOperationException("libc has no " + name + "; farpage needs Linux"));
        return LINKER.downcallHandle(symbol, descriptor, all);
    }

    private static SystemCall call(Call call) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(CALL_STATE);
            long value = call.invoke(state);
            return new SystemCall(value, value == -1 ? (int) errno$vh.get(state, 0L) : 0);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a downcall throws nothing checked", e);
        }
    }

    @FunctionalInterface
    private interface Call {
        long invoke(MemorySegment state) throws Throwable;
    }
}
