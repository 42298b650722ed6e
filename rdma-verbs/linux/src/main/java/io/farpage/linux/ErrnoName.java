package io.farpage.linux;

/** Names of error numbers, as Linux numbers them on x86-64 and aarch64 (errno(3)). */
public final class ErrnoName {
    private static final String[] FROM_1 = {
        "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD",
        "EAGAIN", "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR",
        "EISDIR", "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS",
        "EMLINK", "EPIPE", "EDOM", "ERANGE", "EDEADLK", "ENAMETOOLONG", "ENOLCK", "ENOSYS", "ENOTEMPTY", "ELOOP"
    };

    private static final String[] FROM_88 = {
        "ENOTSOCK",
        "EDESTADDRREQ",
        "EMSGSIZE",
        "EPROTOTYPE",
        "ENOPROTOOPT",
        "EPROTONOSUPPORT",
        "ESOCKTNOSUPPORT",
        "EOPNOTSUPP",
        "EPFNOSUPPORT",
        "EAFNOSUPPORT",
        "EADDRINUSE",
        "EADDRNOTAVAIL",
        "ENETDOWN",
        "ENETUNREACH",
        "ENETRESET",
        "ECONNABORTED",
        "ECONNRESET",
        "ENOBUFS",
        "EISCONN",
        "ENOTCONN",
        "ESHUTDOWN",
        "ETOOMANYREFS",
        "ETIMEDOUT",
        "ECONNREFUSED",
        "EHOSTDOWN",
        "EHOSTUNREACH",
        "EALREADY",
        "EINPROGRESS",
        "ESTALE"
    };

    private ErrnoName() {}

    /** The symbolic name of {@code errno}, such as {@code ECONNREFUSED}; {@code errno 999} if the table lacks it. */
    public static String of(int errno) {
        if (errno >= 1 && errno <= FROM_1.length) {
            return FROM_1[errno - 1];
        }
        if (errno == Errno.EHWPOISON) {
            return "EHWPOISON";
        }
        if (errno >= 88 && errno - 88 < FROM_88.length) {
            return FROM_88[errno - 88];
        }
        return "errno " + errno;
    }
}
