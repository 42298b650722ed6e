package io.farpage.pool.linux;

import jnr.constants.platform.Errno;

/**
 * What a system call gave.
 *
 * @param value what it returned
 * @param errno the error number if {@code value} is −1, else 0
 */
public record SystemCall(long value, int errno) {
    /** Whether the call did what it was asked to. */
    public boolean succeeded() {
        return value != -1;
    }

    /** The symbolic name of the error, such as {@code ENOMEM}. */
    public String error() {
        return Errno.valueOf(errno).name();
    }

    /** Whether the call failed with this error. */
    public boolean failedWith(Errno error) {
        return !succeeded() && errno == error.intValue();
    }
}
