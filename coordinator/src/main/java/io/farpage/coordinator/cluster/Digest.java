package io.farpage.coordinator.cluster;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Short hashes of what is compared later. */
final class Digest {

    private static final int BYTES = 16;

    private Digest() {}

    /** The first half of the SHA-256 of bytes, 32 hex digits. */
    static String of(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes), 0, BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
