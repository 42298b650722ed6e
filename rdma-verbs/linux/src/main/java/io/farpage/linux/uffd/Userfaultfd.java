package io.farpage.linux.uffd;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Libc;
import io.farpage.linux.PosixException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A userfaultfd: faults of a range of some process's memory come out of it as messages, and calls on it resolve them
 * (userfaultfd(2), ioctl_userfaultfd(2)). Calls return a negative error number on failure and allocate nothing. One
 * thread at a time.
 *
 * <p>A thread that touches memory registered with one must not be in Java when it does: it would sleep where the JVM
 * cannot stop it.
 */
public final class Userfaultfd implements PageFaults {
    /** {@code UFFD_FEATURE_PAGEFAULT_FLAG_WP}: write-protect faults. */
    public static final long FEATURE_PAGEFAULT_FLAG_WP = 1L;

    public static final long FEATURE_EVENT_REMAP = 1L << 2;
    public static final long FEATURE_EVENT_REMOVE = 1L << 3;
    public static final long FEATURE_MISSING_HUGETLBFS = 1L << 4;
    public static final long FEATURE_MISSING_SHMEM = 1L << 5;
    public static final long FEATURE_EVENT_UNMAP = 1L << 6;

    /** {@code UFFD_FEATURE_SIGBUS}: a thread that touches missing memory gets SIGBUS, and no message is sent. */
    public static final long FEATURE_SIGBUS = 1L << 7;

    public static final long FEATURE_MINOR_HUGETLBFS = 1L << 9;
    public static final long FEATURE_WP_HUGETLBFS_SHMEM = 1L << 12;

    /** {@code UFFD_FEATURE_WP_ASYNC}, Linux 6.7: a store unprotects its page, and no message is sent. */
    public static final long FEATURE_WP_ASYNC = 1L << 15;

    public static final long REGISTER_MODE_MISSING = 1L;
    public static final long REGISTER_MODE_WP = 1L << 1;
    public static final long REGISTER_MODE_MINOR = 1L << 2;

    /** {@code UFFDIO_COPY_MODE_DONTWAKE}: threads that wait for the page are not woken. */
    public static final long COPY_MODE_DONTWAKE = 1L;

    /** {@code UFFDIO_COPY_MODE_WP}: the page is installed write-protected. */
    public static final long COPY_MODE_WP = 1L << 1;

    /** {@code UFFDIO_WRITEPROTECT_MODE_WP}: protect; without it, unprotect and wake. */
    public static final long WRITEPROTECT_MODE_WP = 1L;

    /** The version of the API, the features of this userfaultfd, and all that the kernel has. */
    private static final Pattern API_LINE = Pattern.compile("API:\\s+[0-9a-f]+:([0-9a-f]{1,15}):[0-9a-f]+");

    private static final long SYS_USERFAULTFD = 323;
    private static final int O_CLOEXEC_NONBLOCK = 0x80800;
    private static final int UFFD_USER_MODE_ONLY = 1;
    private static final long UFFD_API = 0xaa;
    private static final String DEVICE = "/dev/userfaultfd";
    private static final int O_RDWR_CLOEXEC = 0x80002;

    private static final long USERFAULTFD_IOC_NEW = 0xaa00L;
    private static final long UFFDIO_API = 0xc018aa3fL;
    private static final long UFFDIO_REGISTER = 0xc020aa00L;
    private static final long UFFDIO_WAKE = 0x8010aa02L;
    private static final long UFFDIO_COPY = 0xc028aa03L;
    private static final long UFFDIO_ZEROPAGE = 0xc020aa04L;
    private static final long UFFDIO_WRITEPROTECT = 0xc018aa06L;
    private static final long UFFDIO_CONTINUE = 0xc020aa07L;
    private static final long UFFDIO_POISON = 0xc020aa08L;

    private static final long ARGUMENT_BYTES = 40;

    private static final MethodHandle syscall$mh =
            Libc.capturing("syscall", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT), 1);
    private static final MethodHandle ioctl$mh =
            Libc.capturing("ioctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG), 2);

    private final int fd;
    private final Errno errno = Errno.create();
    private final MemorySegment argument = Arena.ofAuto().allocate(ARGUMENT_BYTES, 8);
    private long features;
    private boolean closed;

    private Userfaultfd(int fd) {
        this.fd = fd;
    }

    /** Takes over a descriptor that another process opened and initialized; closing this closes it. */
    public static Userfaultfd adopt(int fd) {
        return new Userfaultfd(fd);
    }

    /**
     * The features that some process has initialized a userfaultfd with, as the kernel reports them in
     * proc_pid_fdinfo(5); empty if it does not.
     *
     * @param fd a descriptor of this process
     */
    public static OptionalLong featuresOf(int fd) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/fdinfo", Integer.toString(fd)))) {
                Matcher api = API_LINE.matcher(line);
                if (api.matches()) {
                    return OptionalLong.of(Long.parseLong(api.group(1), 16));
                }
            }
        } catch (IOException e) {
            // Not an open descriptor, or no /proc.
        }
        return OptionalLong.empty();
    }

    /**
     * Opens one for this process's memory, non-blocking and closed on exec: with the system call, or from
     * {@code /dev/userfaultfd} if the call is refused.
     *
     * @param features {@code FEATURE_}… or-ed together
     * @throws PosixException EPERM without CAP_SYS_PTRACE where vm.unprivileged_userfaultfd is 0 and this user may not
     *     open the device, EINVAL if the kernel lacks one of the features
     */
    public static Userfaultfd open(long features) {
        return open(features, O_CLOEXEC_NONBLOCK);
    }

    /**
     * As {@link #open}, without any privilege (Linux 5.11): a system call that touches missing memory fails, rather
     * than waits.
     *
     * @throws PosixException EINVAL if the kernel lacks one of the features
     */
    public static Userfaultfd openForUserMode(long features) {
        return open(features, O_CLOEXEC_NONBLOCK | UFFD_USER_MODE_ONLY);
    }

    private static Userfaultfd open(long features, int flags) {
        Errno errno = Errno.create();
        try {
            long fd = errno.check((long) syscall$mh.invokeExact(errno.segment(), SYS_USERFAULTFD, flags));
            // ENOSYS: a seccomp filter, as containers have it.
            if (fd == -Errno.EPERM || fd == -Errno.ENOSYS) {
                fd = ofDevice(errno, flags, fd);
            }
            if (fd < 0) {
                throw new PosixException("userfaultfd", (int) -fd);
            }
            Userfaultfd opened = new Userfaultfd((int) fd);
            long have = opened.api(features);
            if (have < 0) {
                opened.close();
                throw new PosixException("UFFDIO_API with features 0x" + Long.toHexString(features), (int) -have);
            }
            opened.features = have;
            return opened;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * One from the device, whose permissions decide instead of the sysctl; {@code refused} if this user may not open
     * that.
     */
    private static long ofDevice(Errno errno, int flags, long refused) {
        int device = FileIo.open(errno, DEVICE, O_RDWR_CLOEXEC);
        if (device < 0) {
            return refused;
        }
        try {
            return ioctl(errno, device, USERFAULTFD_IOC_NEW, flags);
        } finally {
            FileIo.close(errno, device);
        }
    }

    /**
     * {@code UFFDIO_API}: agrees on features; once per descriptor. Returns those the kernel has, or a negative error
     * number.
     */
    private long api(long features) {
        argument.set(JAVA_LONG, 0, UFFD_API);
        argument.set(JAVA_LONG, 8, features);
        argument.set(JAVA_LONG, 16, 0);
        int result = ioctl(UFFDIO_API);
        return result < 0 ? result : argument.get(JAVA_LONG, 8);
    }

    @Override
    public int fd() {
        return fd;
    }

    /** {@code UFFD_FEATURE_}… that the kernel has, of a descriptor that {@link #open} returned. */
    public long features() {
        return features;
    }

    @Override
    public int read(UffdMessages messages) {
        long bytes = FileIo.read(errno, fd, messages.address(), messages.bytes());
        if (bytes < 0) {
            return bytes == -Errno.EAGAIN ? 0 : (int) bytes;
        }
        return (int) (bytes / UffdMessages.MESSAGE_BYTES);
    }

    /** {@code UFFDIO_REGISTER}: faults of the range are reported from now on. */
    public int register(long start, long length, long mode) {
        range(start, length);
        argument.set(JAVA_LONG, 16, mode);
        argument.set(JAVA_LONG, 24, 0);
        return ioctl(UFFDIO_REGISTER);
    }

    @Override
    public long copy(long destination, long source, long length, long mode) {
        argument.set(JAVA_LONG, 0, destination);
        argument.set(JAVA_LONG, 8, source);
        argument.set(JAVA_LONG, 16, length);
        argument.set(JAVA_LONG, 24, mode);
        argument.set(JAVA_LONG, 32, 0);
        return done(ioctl(UFFDIO_COPY), 32);
    }

    @Override
    public long zeropage(long start, long length) {
        return ofRange(UFFDIO_ZEROPAGE, start, length);
    }

    @Override
    public long continueAt(long start, long length) {
        return ofRange(UFFDIO_CONTINUE, start, length);
    }

    @Override
    public long poison(long start, long length) {
        return ofRange(UFFDIO_POISON, start, length);
    }

    @Override
    public int writeProtect(long start, long length, boolean protect) {
        range(start, length);
        argument.set(JAVA_LONG, 16, protect ? WRITEPROTECT_MODE_WP : 0);
        return ioctl(UFFDIO_WRITEPROTECT);
    }

    @Override
    public int wake(long start, long length) {
        range(start, length);
        return ioctl(UFFDIO_WAKE);
    }

    @Override
    public PageFaults child(int descriptor) {
        return adopt(descriptor);
    }

    /** A request whose argument is a range, a mode, which is 0, and the result. */
    private long ofRange(long request, long start, long length) {
        range(start, length);
        argument.set(JAVA_LONG, 16, 0);
        argument.set(JAVA_LONG, 24, 0);
        return done(ioctl(request), 24);
    }

    private void range(long start, long length) {
        argument.set(JAVA_LONG, 0, start);
        argument.set(JAVA_LONG, 8, length);
    }

    /** What an operation on pages did: the kernel leaves it in the argument, also if it fails after the first page. */
    private long done(int result, long at) {
        long bytes = argument.get(JAVA_LONG, at);
        if (result == 0 || bytes > 0) {
            return bytes;
        }
        return bytes < 0 ? bytes : result;
    }

    private int ioctl(long request) {
        // SAFETY: the argument is larger than any structure that these requests read or write.
        return ioctl(errno, fd, request, argument.address());
    }

    private static int ioctl(Errno errno, int fd, long request, long argument) {
        try {
            return errno.check((int) ioctl$mh.invokeExact(errno.segment(), fd, request, argument));
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
