package io.farpage.agent.control.guest;

import io.farpage.log.Printable;

/** A VMM's handoff is not acceptable. The message says what is wrong and what is allowed. */
public final class HandoffException extends Exception {
    private static final long serialVersionUID = 1L;
    /** Characters of a message, which may quote what the VMM sent. */
    private static final int MAX_LENGTH = 1000;

    HandoffException(String message) {
        super(Printable.of(message, MAX_LENGTH));
    }
}
