package io.farpage.verbs;

import java.util.Arrays;

/**
 * What the two sides of a link know and no third party does: the key of the proofs that they give each other when they
 * connect. Both derive it; it is never sent. Immutable.
 */
public final class LinkSecret {
    /** Bytes of a secret. */
    public static final int SIZE = 32;

    private final byte[] bytes;

    /**
     * @param bytes the secret, copied
     * @throws IllegalArgumentException if they are not {@value #SIZE}
     */
    public LinkSecret(byte[] bytes) {
        if (bytes.length != SIZE) {
            throw new IllegalArgumentException("link secret: %d bytes, not %d".formatted(bytes.length, SIZE));
        }
        this.bytes = bytes.clone();
    }

    /** A copy of the secret. */
    public byte[] bytes() {
        return bytes.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LinkSecret secret && Arrays.equals(bytes, secret.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    /** Does not show the secret. */
    @Override
    public String toString() {
        return "link secret";
    }
}
