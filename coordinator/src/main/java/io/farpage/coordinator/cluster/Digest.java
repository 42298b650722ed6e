package io.farpage.coordinator.cluster;

import io.farpage.coordinator.store.Sha256;
import java.util.HexFormat;

/** Short hashes of what is compared later. */
public final class Digest {

    private static final int BYTES = 16;

    private Digest() {}

    /** The first half of the SHA-256 of bytes, 32 hex digits. */
    public static String of(byte[] bytes) {
        return HexFormat.of().formatHex(Sha256.begin().digest(bytes), 0, BYTES);
    }
}
