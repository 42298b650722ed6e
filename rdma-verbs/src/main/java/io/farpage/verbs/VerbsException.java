package io.farpage.verbs;

/**
 * A verbs call failed. The message names the operation, the object, the cause and, where there is one, the fix: {@code
 * modify_qp(INIT→RTR) on mlx5_0/1: EINVAL; …}.
 */
public class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int errno;

    public VerbsException(String message) {
        this(message, 0);
    }

    /** @param errno error number of the failed call, 0 if there is none */
    public VerbsException(String message, int errno) {
        super(message);
        this.errno = errno;
    }

    public VerbsException(String message, Throwable cause) {
        super(message, cause);
        this.errno = 0;
    }

    /** Error number of the failed call (errno(3)), 0 if there is none. */
    public int errno() {
        return errno;
    }
}
