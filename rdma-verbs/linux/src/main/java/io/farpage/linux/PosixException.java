package io.farpage.linux;

/** A call of the C library failed. The message names the call and the error: {@code bind(127.0.0.1:80): EACCES}. */
public final class PosixException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int errno;

    /**
     * @param operation the call and what it was made on
     * @param errno its error number
     */
    public PosixException(String operation, int errno) {
        super(operation + ": " + ErrnoName.of(errno));
        this.errno = errno;
    }

    public int errno() {
        return errno;
    }
}
