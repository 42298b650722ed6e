package io.farpage.agent.client;

/** The option that names an agent leads to none; the message says what to give. */
public final class NoAgentException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    NoAgentException(String message) {
        super(message);
    }
}
