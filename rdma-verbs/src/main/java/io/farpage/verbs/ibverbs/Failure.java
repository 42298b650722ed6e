package io.farpage.verbs.ibverbs;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.verbs.VerbsException;

/** Makes the exceptions of failed calls: operation, object, error, and what to do about it. */
final class Failure {
    static final int ENODEV = 19;
    static final int ENETUNREACH = 101;

    private Failure() {}

    /**
     * @param hint likely cause and fix of this operation's usual failure; errors with one meaning everywhere have their
     *     own
     */
    static VerbsException of(String operation, String object, int errno, String hint) {
        String cause = switch (errno) {
            case Errno.EIO, ENODEV -> "the device was removed or has failed; close it, see dmesg, and open it again";
            case Errno.EPERM, Errno.EACCES -> "not permitted; check the permissions of /dev/infiniband";
            case Errno.EMFILE -> "this process has too many files open; raise RLIMIT_NOFILE (ulimit -n)";
            default -> hint;
        };
        return new VerbsException(operation + " on " + object + ": " + ErrnoName.of(errno) + "; " + cause, errno);
    }

    /**
     * Whether an error means that the kernel has taken the device from this process and destroyed all its objects. Any
     * call on such an object fails, and the hardware no longer reaches memory of this process through it.
     */
    static boolean isGone(int errno) {
        return errno == Errno.EIO || errno == ENODEV;
    }

    /** Throws unless {@code errno} is 0. */
    static void check(int errno, String operation, String object, String hint) {
        if (errno != 0) {
            throw of(operation, object, errno, hint);
        }
    }

    /** {@code pointer}, unless it is NULL. */
    static long check(long pointer, Errno errno, String operation, String object, String hint) {
        if (pointer == 0) {
            throw of(operation, object, errno.value(), hint);
        }
        return pointer;
    }
}
