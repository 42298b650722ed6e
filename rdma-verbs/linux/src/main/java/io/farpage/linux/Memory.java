package io.farpage.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Linux's memory calls by their manual-page names, on raw addresses. Thread-safe; for the control path. See
 * {@code mmap(2)}, {@code madvise(2)}, {@code mlock(2)}, {@code mbind(2)}.
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

    private static final MethodHandle mmap$mh = Libc.capturing(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle munmap$mh =
            Libc.capturing("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle madvise$mh =
            Libc.capturing("madvise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private static final MethodHandle mlock$mh =
            Libc.capturing("mlock", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle mbind$mh = Libc.capturing(
            "syscall",
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG),
            1);

    private Memory() {}

    /**
     * Maps private anonymous memory, readable and writable, at an address the kernel picks. Never
     * {@code MAP_NORESERVE}: for hugepages the kernel reserves them in this call, so that a lack of them is an error
     * now and not a SIGBUS later.
     *
     * @param length bytes
     * @param extraFlags {@code MAP_HUGETLB} and its size bits, or 0
     */
    public static SystemCall mmap(long length, int extraFlags) {
        Errno errno = Errno.ofThread();
        int flags = MAP_PRIVATE_ANONYMOUS | extraFlags;
        try {
            return SystemCall.of(
                    (long) mmap$mh.invokeExact(errno.segment(), 0L, length, PROT_READ_WRITE, flags, -1, 0L), errno);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Unmaps; nothing may touch the range afterwards. */
    public static SystemCall munmap(long address, long length) {
        Errno errno = Errno.ofThread();
        try {
            return SystemCall.of((int) munmap$mh.invokeExact(errno.segment(), address, length), errno);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Gives one of the {@code MADV_} advices above. */
    public static SystemCall madvise(long address, long length, int advice) {
        Errno errno = Errno.ofThread();
        try {
            return SystemCall.of((int) madvise$mh.invokeExact(errno.segment(), address, length, advice), errno);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Locks the range into memory. */
    public static SystemCall mlock(long address, long length) {
        Errno errno = Errno.ofThread();
        try {
            return SystemCall.of((int) mlock$mh.invokeExact(errno.segment(), address, length), errno);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
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
            Errno errno = Errno.ofThread();
            return SystemCall.of(
                    (long) mbind$mh.invokeExact(
                            errno.segment(), number, address, length, (long) MPOL_BIND, mask, maxNode, 0L),
                    errno);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Writes a zero at the start of every page with {@code read(2)} from {@code /dev/zero}. If the kernel has no page,
     * the call fails with EFAULT; a store by this process would raise SIGBUS.
     */
    public static SystemCall touch(long address, long length, long pageBytes) {
        Errno errno = Errno.ofThread();
        int fd = FileIo.open(errno, "/dev/zero", O_RDONLY_CLOEXEC);
        if (fd < 0) {
            return new SystemCall(-1, -fd);
        }
        try {
            return fill(errno, fd, address, length, pageBytes);
        } finally {
            FileIo.close(errno, fd);
        }
    }

    private static SystemCall fill(Errno errno, int zeros, long address, long length, long pageBytes) {
        for (long offset = 0; offset < length; offset += pageBytes) {
            long read = FileIo.read(errno, zeros, address + offset, 1);
            if (read < 0) {
                return new SystemCall(-1, (int) -read);
            }
        }
        return new SystemCall(0, 0);
    }

    private static long mbindNumber() {
        return switch (System.getProperty("os.arch")) {
            case "amd64" -> 237;
            case "aarch64", "riscv64" -> 235;
            case String other -> throw new UnsupportedOperationException("mbind(2) has no known number on " + other);
        };
    }
}
