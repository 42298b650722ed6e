package io.farpage.access;

/** Knows the tokens of people and programs. Thread-safe. */
@FunctionalInterface
public interface TokenVerifier {

    /**
     * Whose token it is.
     *
     * @throws TokenRefusedException if it is unknown, revoked or expired
     */
    Identity.Principal verify(String token) throws TokenRefusedException;
}
