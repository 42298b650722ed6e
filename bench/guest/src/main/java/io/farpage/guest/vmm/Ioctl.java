package io.farpage.guest.vmm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** ioctl(2). Blocks as long as the request does, as native code: the JVM's safepoints go on meanwhile. */
final class Ioctl {
    private static final MethodHandle ioctl$mh =
            Libc.capturing("ioctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG), 2);

    private Ioctl() {}

    /** Returns what the request returns, or a negative error number. */
    static int call(Errno errno, int fd, long request, long argument) {
        try {
            // SAFETY: argument is a number, or the address of the struct that the request names and the caller keeps
            // alive.
            return errno.check((int) ioctl$mh.invokeExact(errno.segment(), fd, request, argument));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
