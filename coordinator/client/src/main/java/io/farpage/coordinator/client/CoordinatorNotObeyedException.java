package io.farpage.coordinator.client;

/**
 * A coordinator answered that keeps another cluster, or an older or diverged copy of this one's state. The answer is
 * not used. The same call succeeds once the right coordinator answers.
 */
public final class CoordinatorNotObeyedException extends CoordinatorException {

    private static final long serialVersionUID = 1L;

    CoordinatorNotObeyedException(String message) {
        super(message);
    }
}
