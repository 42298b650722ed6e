package io.farpage.linux;

/**
 * What a system call gave.
 *
 * @param value what it returned
 * @param errno the error number if {@code value} is −1, else 0
 */
public record SystemCall(long value, int errno) {
    /** What a call returned that captured its error number. */
    static SystemCall of(long value, Errno errno) {
        return new SystemCall(value, value == -1 ? errno.value() : 0);
    }

    /** Whether the call did what it was asked to. */
    public boolean succeeded() {
        return value != -1;
    }

    /** The symbolic name of the error, such as {@code ENOMEM}. */
    public String error() {
        return ErrnoName.of(errno);
    }

    /** Whether the call failed with one of the error numbers in {@link Errno}. */
    public boolean failedWith(int error) {
        return !succeeded() && errno == error;
    }
}
