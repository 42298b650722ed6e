package io.farpage.coordinator.client;

/**
 * A call to the coordinator did not succeed. Checked, since a coordinator that is away is nothing unusual to an agent.
 */
public abstract sealed class CoordinatorException extends Exception
        permits CoordinatorUnreachableException, CoordinatorRefusedException, CoordinatorNotObeyedException {

    private static final long serialVersionUID = 1L;

    CoordinatorException(String message) {
        super(message);
    }

    CoordinatorException(String message, Throwable cause) {
        super(message, cause);
    }
}
