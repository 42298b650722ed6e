package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/**
 * Descriptors of processes, which unlike their ids are never given to another process (pidfd_open(2), Linux 5.3).
 * Thread-safe.
 */
public final class ProcessFd {
    /** The same on every architecture. */
    private static final long SYS_PIDFD_OPEN = 434;

    private static final MethodHandle pidfd_open$mh =
            Libc.capturing("syscall", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT), 1);

    private ProcessFd() {}

    /** A descriptor of a process, closed on exec. */
    public static SystemCall open(int pid) {
        Errno errno = Errno.ofThread();
        try {
            return SystemCall.of((long) pidfd_open$mh.invokeExact(errno.segment(), SYS_PIDFD_OPEN, pid, 0), errno);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Whether all threads of the process have ended, so that its descriptors are closed. */
    public static boolean hasEnded(int process) {
        PollSet poll = new PollSet(1);
        poll.add(process, PollSet.POLLIN);
        return poll.await(0) > 0;
    }
}
