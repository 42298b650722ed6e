package io.farpage.agent.doctor;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.posix.Errno;
import io.farpage.posix.FileIo;
import io.farpage.posix.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Opens a userfaultfd, asks what it can do (UFFDIO_API, ioctl_userfaultfd(2)), and closes it. */
final class Userfaultfd {
    private static final long SYS_USERFAULTFD = 323;
    private static final int O_CLOEXEC_NONBLOCK = 0x80800;
    private static final long UFFDIO_API = 0xc018aa3fL;
    private static final long UFFD_API = 0xaa;
    private static final long UFFDIO_API_SIZE = 24;

    private Userfaultfd() {}

    /** What came of it. */
    sealed interface Outcome {
        /**
         * It can be had.
         *
         * @param features {@code UFFD_FEATURE_*} that the kernel has
         */
        record Opened(long features) implements Outcome {}

        /**
         * It cannot be had.
         *
         * @param errno why not
         */
        record Refused(int errno) implements Outcome {}
    }

    static Outcome open() {
        MethodHandle syscall = Libc.capturing("syscall", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT), 1);
        MethodHandle ioctl =
                Libc.capturing("ioctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG), 2);
        Errno errno = Errno.create();
        try (Arena arena = Arena.ofConfined()) {
            int fd =
                    (int) errno.check((long) syscall.invokeExact(errno.segment(), SYS_USERFAULTFD, O_CLOEXEC_NONBLOCK));
            if (fd < 0) {
                return new Outcome.Refused(-fd);
            }
            try {
                MemorySegment api = arena.allocate(UFFDIO_API_SIZE, 8);
                api.set(JAVA_LONG, 0, UFFD_API);
                // SAFETY: the arena holds a struct uffdio_api (api, features, ioctls) until after the call.
                int result = errno.check((int) ioctl.invokeExact(errno.segment(), fd, UFFDIO_API, api.address()));
                return result < 0 ? new Outcome.Refused(-result) : new Outcome.Opened(api.get(JAVA_LONG, 8));
            } finally {
                FileIo.close(errno, fd);
            }
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
