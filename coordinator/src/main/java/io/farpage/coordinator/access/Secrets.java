package io.farpage.coordinator.access;

import io.farpage.coordinator.store.Sha256;
import java.nio.charset.StandardCharsets;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.util.Base64;

/**
 * Random secrets of 256 bits and their hashes. A fast hash is enough: a secret of 256 random bits cannot be guessed
 * from it.
 */
final class Secrets {

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int BYTES = 32;

    private Secrets() {}

    /** A new secret, with a prefix by which scanners find it in places where it must not be. */
    static String make(String prefix) {
        byte[] bytes = new byte[BYTES];
        RANDOM.nextBytes(bytes);
        return prefix + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /** SHA-256 in hex digits. */
    static String hash(String secret) {
        return Sha256.hex(secret.getBytes(StandardCharsets.UTF_8));
    }

    /** SHA-256 of a public key as it is in certificates (RFC 5280, SubjectPublicKeyInfo), in hex digits. */
    static String hash(PublicKey key) {
        return Sha256.hex(key.getEncoded());
    }
}
