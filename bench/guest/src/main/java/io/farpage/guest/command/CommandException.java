package io.farpage.guest.command;

/** The program cannot go on; the message is one line for people that says what happened and where to look. */
public final class CommandException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public CommandException(String message) {
        super(message);
    }

    public CommandException(String message, Throwable cause) {
        super(message, cause);
    }
}
