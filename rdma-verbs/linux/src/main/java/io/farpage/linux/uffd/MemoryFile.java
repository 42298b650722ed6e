package io.farpage.linux.uffd;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/**
 * The file behind a guest's memory (memfd_create(2), or any file on tmpfs or hugetlbfs). Its pages are read and taken
 * out through system calls, never through a mapping: another process may truncate the file at any moment. Calls return
 * a negative error number on failure and allocate nothing. One thread at a time.
 */
public final class MemoryFile implements GuestFile, PresentPages, AutoCloseable {
    private static final int MFD_CLOEXEC = 1;
    /** {@code MFD_HUGETLB | MFD_HUGE_2MB}: pages of 2 MiB out of the kernel's hugepages. */
    private static final int MFD_HUGE_2MB = 4 | 21 << 26;

    private static final int SEEK_END = 2;
    private static final int SEEK_DATA = 3;
    private static final int SEEK_HOLE = 4;
    private static final int F_GET_SEALS = 1034;
    private static final int F_GETFL = 3;
    private static final int O_ACCMODE = 3;
    private static final int O_RDONLY = 0;
    private static final int F_SEAL_WRITE = 8;
    private static final int F_SEAL_FUTURE_WRITE = 16;
    private static final int FALLOC_FL_KEEP_SIZE = 1;
    private static final int FALLOC_FL_PUNCH_HOLE = 2;

    private static final MethodHandle memfd_create$mh =
            Libc.capturing("memfd_create", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle ftruncate$mh =
            Libc.capturing("ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle lseek$mh =
            Libc.capturing("lseek", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle fcntl$mh =
            Libc.capturing("fcntl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT), 2);
    private static final MethodHandle pread$mh =
            Libc.capturing("pread", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle fallocate$mh =
            Libc.capturing("fallocate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));

    private final int fd;
    private final long base;
    private final Errno errno = Errno.create();
    private boolean closed;

    private MemoryFile(int fd, long base) {
        this.fd = fd;
        this.base = base;
    }

    /** Takes over a descriptor; closing this closes it. */
    public static MemoryFile adopt(int fd) {
        return new MemoryFile(fd, 0);
    }

    /**
     * The same file, for another thread, with offsets that count from {@code start}; to be used until this is closed.
     */
    public MemoryFile from(long start) {
        MemoryFile part = new MemoryFile(fd, base + start);
        part.closed = true; // has no descriptor of its own
        return part;
    }

    /**
     * A new anonymous file of {@code length} bytes, all of it a hole.
     *
     * @param name for /proc; up to 249 bytes
     */
    public static MemoryFile create(String name, long length) {
        return create(name, length, MFD_CLOEXEC);
    }

    /** As {@link #create}, of hugepages of 2 MiB each, which are taken as pages are filled. */
    public static MemoryFile createHuge(String name, long length) {
        return create(name, length, MFD_CLOEXEC | MFD_HUGE_2MB);
    }

    private static MemoryFile create(String name, long length, int flags) {
        Errno errno = Errno.create();
        try (Arena arena = Arena.ofConfined()) {
            int fd = (int) memfd_create$mh.invokeExact(errno.segment(), arena.allocateFrom(name), flags);
            MemoryFile file = new MemoryFile(errno.require(fd, "memfd_create(" + name + ")"), 0);
            errno.require((int) ftruncate$mh.invokeExact(errno.segment(), fd, length), "ftruncate(" + length + ")");
            return file;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    public int fd() {
        return fd;
    }

    /**
     * Whether a descriptor refers to a regular file whose pages are memory: a memfd, or a file on tmpfs or hugetlbfs.
     * Those alone have seals (fcntl(2), F_GET_SEALS), and the kernel answers by itself. stat(2), fstatfs(2) or lseek(2)
     * would ask the server of a file on FUSE, which may never answer.
     */
    public static boolean isMemory(int fd) {
        return fcntl(fd, F_GET_SEALS) >= 0;
    }

    /**
     * Why the kernel would take no page out through a descriptor of a memory file (fallocate(2): EBADF, EPERM), with
     * the fix; empty if it does. Seals that are added later are not foreseen.
     */
    public static Optional<String> obstacleToPunching(int fd) {
        int flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
            return Optional.of("is open for reading alone; open it with O_RDWR");
        }
        int seals = fcntl(fd, F_GET_SEALS);
        if (seals >= 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0) {
            return Optional.of(
                    "is sealed against writing (F_SEAL_WRITE or F_SEAL_FUTURE_WRITE); leave these seals off");
        }
        return Optional.empty();
    }

    private static int fcntl(int fd, int command) {
        Errno errno = Errno.ofThread();
        try {
            return (int) fcntl$mh.invokeExact(errno.segment(), fd, command);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Length in bytes of the file behind a descriptor, or a negative error number: -ESPIPE if it is not a file.
     */
    public static long lengthOf(int fd) {
        Errno errno = Errno.ofThread();
        try {
            return errno.check((long) lseek$mh.invokeExact(errno.segment(), fd, 0L, SEEK_END));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    @Override
    public long read(long offset, long address, long length) {
        try {
            // SAFETY: the caller owns length bytes at address.
            return errno.check((long) pread$mh.invokeExact(errno.segment(), fd, address, length, base + offset));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    @Override
    public int punchHole(long offset, long length) {
        try {
            return errno.check((int) fallocate$mh.invokeExact(
                    errno.segment(), fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, base + offset, length));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    @Override
    public long firstPage(long offset, long length) {
        long found = seek(offset, SEEK_DATA);
        return found >= offset + length ? -Errno.ENXIO : found;
    }

    /** {@code SEEK_DATA} (lseek(2)), for files of ordinary pages: hugetlbfs calls holes data. */
    @Override
    public long nextData(long offset) {
        return seek(offset, SEEK_DATA);
    }

    @Override
    public long nextHole(long offset) {
        return seek(offset, SEEK_HOLE);
    }

    private long seek(long offset, int whence) {
        try {
            long found = errno.check((long) lseek$mh.invokeExact(errno.segment(), fd, base + offset, whence));
            return found < 0 ? found : found - base;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            FileIo.close(errno, fd);
        }
    }
}
