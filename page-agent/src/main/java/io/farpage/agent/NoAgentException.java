package io.farpage.agent;

/** The option that names an agent leads to none; the message says what to give. */
final class NoAgentException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    NoAgentException(String message) {
        super(message);
    }
}
