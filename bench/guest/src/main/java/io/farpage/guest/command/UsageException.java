package io.farpage.guest.command;

/** The command line is wrong; the message is one line that names the option, the value and what is allowed. */
public final class UsageException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public UsageException(String message) {
        super(message);
    }

    public UsageException(IllegalArgumentException cause) {
        super(cause.getMessage(), cause);
    }
}
