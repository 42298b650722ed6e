package io.farpage.agent.control.guest;

import io.farpage.log.Printable;

/** What a VMM sent is not what a handoff has to be. The message says what is wrong and what is allowed. */
public final class HandoffException extends Exception {
    private static final long serialVersionUID = 1L;
    /** Of a message: it may quote what the VMM sent. */
    private static final int LONGEST = 1000;

    HandoffException(String message) {
        super(Printable.of(message, LONGEST));
    }
}
