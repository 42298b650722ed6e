package io.farpage.agent.guest;

/** What a VMM sent is not what a handoff has to be. The message says what is wrong and what is allowed. */
public final class HandoffException extends Exception {
    private static final long serialVersionUID = 1L;

    HandoffException(String message) {
        super(message);
    }
}
