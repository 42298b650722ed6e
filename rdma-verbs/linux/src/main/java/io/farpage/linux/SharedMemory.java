package io.farpage.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Memory in a file without a name, which lives as long as any process has a descriptor of it or a mapping
 * (memfd_create(2), fcntl(2), fstatfs(2), mmap(2)). Thread-safe; for the control path.
 */
public final class SharedMemory {
    private static final int MFD_CLOEXEC = 1;
    private static final int MFD_ALLOW_SEALING = 2;
    private static final int MFD_HUGETLB = 4;
    private static final int MFD_HUGE_SHIFT = 26;
    private static final int F_DUPFD_CLOEXEC = 1030;
    private static final int F_ADD_SEALS = 1033;
    private static final int F_GET_SEALS = 1034;
    /** {@code F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW}. */
    private static final int LENGTH_SEALS = 1 | 2 | 4;

    private static final int PROT_READ_WRITE = 0x1 | 0x2;
    private static final int MAP_SHARED = 0x01;
    private static final int MAP_FIXED = 0x10;
    /** {@code struct statfs { long f_type; long f_bsize; … }}. */
    private static final int STATFS_BYTES = 120;

    private static final int BLOCK_SIZE_AT = 8;

    private static final MethodHandle memfd_create$mh =
            Libc.capturing("memfd_create", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle ftruncate$mh =
            Libc.capturing("ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle fcntl$mh =
            Libc.capturing("fcntl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT), 2);
    private static final MethodHandle fstatfs$mh =
            Libc.capturing("fstatfs", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle mmap$mh = Libc.capturing(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));

    private SharedMemory() {}

    /**
     * Makes a file, empty and closed on exec.
     *
     * @param name for /proc; up to 249 bytes
     * @param hugepageShift log₂ of the size of its hugepages; 0 for ordinary pages
     * @return the descriptor
     */
    public static SystemCall create(String name, int hugepageShift) {
        Errno errno = Errno.ofThread();
        int huge = hugepageShift == 0 ? 0 : MFD_HUGETLB | hugepageShift << MFD_HUGE_SHIFT;
        try (Arena arena = Arena.ofConfined()) {
            return SystemCall.of(
                    (int) memfd_create$mh.invokeExact(
                            errno.segment(), arena.allocateFrom(name), MFD_CLOEXEC | MFD_ALLOW_SEALING | huge),
                    errno);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Gives the file its length, for good: no process can change it afterwards, so no mapping of it can fault beyond
     * its end.
     */
    public static SystemCall setLength(int fd, long length) {
        Errno errno = Errno.ofThread();
        try {
            SystemCall sized = SystemCall.of((int) ftruncate$mh.invokeExact(errno.segment(), fd, length), errno);
            return sized.succeeded()
                    ? SystemCall.of((int) fcntl$mh.invokeExact(errno.segment(), fd, F_ADD_SEALS, LENGTH_SEALS), errno)
                    : sized;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Whether a descriptor is of a file of memory whose length {@link #setLength} has fixed. */
    public static boolean hasFixedLength(int fd) {
        Errno errno = Errno.ofThread();
        try {
            int seals = (int) fcntl$mh.invokeExact(errno.segment(), fd, F_GET_SEALS, 0);
            return seals >= 0 && (seals & LENGTH_SEALS) == LENGTH_SEALS;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Another descriptor of the same file, closed on exec. */
    public static SystemCall duplicate(int fd) {
        Errno errno = Errno.ofThread();
        try {
            return SystemCall.of((int) fcntl$mh.invokeExact(errno.segment(), fd, F_DUPFD_CLOEXEC, 0), errno);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Bytes of a page of the file, a hugepage's where it has such. */
    public static SystemCall pageBytes(int fd) {
        Errno errno = Errno.ofThread();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stat = arena.allocate(STATFS_BYTES, 8);
            SystemCall call = SystemCall.of((int) fstatfs$mh.invokeExact(errno.segment(), fd, stat.address()), errno);
            return call.succeeded() ? new SystemCall(stat.get(JAVA_LONG, BLOCK_SIZE_AT), 0) : call;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Maps the start of the file, readable and writable, at an address that the kernel picks. */
    public static SystemCall map(int fd, long length) {
        return map(0, fd, length, 0);
    }

    /** As {@link #map}, at an address of the caller's. Replaces the caller's mapping at that address. */
    public static SystemCall mapAt(long address, int fd, long length) {
        return map(address, fd, length, MAP_FIXED);
    }

    private static SystemCall map(long address, int fd, long length, int flags) {
        Errno errno = Errno.ofThread();
        try {
            // SAFETY: with MAP_FIXED the caller owns the range; otherwise the kernel picks one that is free.
            return SystemCall.of(
                    (long) mmap$mh.invokeExact(
                            errno.segment(), address, length, PROT_READ_WRITE, MAP_SHARED | flags, fd, 0L),
                    errno);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
