package io.farpage.access;

/** A token does not count; the message says why and never repeats it. */
public final class TokenRefusedException extends Exception {

    private static final long serialVersionUID = 1L;

    /** Creates it with a reason that goes into the answer. */
    public TokenRefusedException(String reason) {
        super(reason);
    }

    /** Why it does not count. */
    public String reason() {
        return String.valueOf(getMessage());
    }
}
