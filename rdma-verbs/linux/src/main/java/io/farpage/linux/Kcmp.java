package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** What two tasks share (kcmp(2)). */
public final class Kcmp {
    private static final long SYSCALL = System.getProperty("os.arch", "").equals("amd64") ? 312 : 272;
    private static final int KCMP_FILES = 2;

    private static final MethodHandle syscall$mh = Libc.capturing(
            "syscall",
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
            1);

    private Kcmp() {}

    /**
     * Whether two tasks are known to have the same table of descriptors; false if the kernel cannot tell or may not.
     */
    public static boolean shareDescriptors(Errno errno, int one, int other) {
        try {
            long order = (long) syscall$mh.invokeExact(
                    errno.segment(), SYSCALL, (long) one, (long) other, (long) KCMP_FILES, 0L, 0L);
            return order == 0;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
