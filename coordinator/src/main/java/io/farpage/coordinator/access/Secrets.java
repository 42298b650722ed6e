package io.farpage.coordinator.access;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HexFormat;

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
        return hash(secret.getBytes(StandardCharsets.UTF_8));
    }

    /** SHA-256 of a public key as it is in certificates (RFC 5280, SubjectPublicKeyInfo), in hex digits. */
    static String hash(PublicKey key) {
        return hash(key.getEncoded());
    }

    private static String hash(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("the JDK has no SHA-256", e);
        }
    }
}
