package io.farpage.agent.control.seal;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.KDF;
import javax.crypto.spec.HKDFParameterSpec;

/**
 * The key of encrypted spaces, 256 bits. Nothing is encrypted with it: other keys are derived from it by HKDF-SHA256
 * (RFC 5869), each for one purpose and one space. Not thread-safe.
 */
final class SpaceKey implements AutoCloseable {
    static final int BYTES = 32;
    private static final int ID_BYTES = 8;

    private final byte[] key;

    /** @param key which this takes over and wipes when it is closed */
    private SpaceKey(byte[] key) {
        this.key = key;
    }

    /**
     * A key as files and key services write it: 32 bytes, or 64 hex digits with or without an end of line.
     *
     * @param written wiped
     * @param from for messages
     * @throws SealException if it is neither
     */
    static SpaceKey read(byte[] written, String from) throws SealException {
        try {
            if (written.length == BYTES) {
                return new SpaceKey(written.clone());
            }
            int length = written.length;
            while (length > 0 && (written[length - 1] == '\n' || written[length - 1] == '\r')) {
                length--;
            }
            if (length == 2 * BYTES) {
                return new SpaceKey(parse(written, from));
            }
            throw new SealException(wrong(from, written.length + " bytes"));
        } finally {
            Arrays.fill(written, (byte) 0);
        }
    }

    private static byte[] parse(byte[] hex, String from) throws SealException {
        byte[] key = new byte[BYTES];
        for (int i = 0; i < BYTES; i++) {
            int high = Character.digit(hex[2 * i], 16);
            int low = Character.digit(hex[2 * i + 1], 16);
            if (high < 0 || low < 0) {
                throw new SealException(wrong(from, "64 characters, not all of them hex digits"));
            }
            key[i] = (byte) (high << 4 | low);
        }
        return key;
    }

    private static String wrong(String from, String has) {
        return "%s has %s; a key is 32 bytes or 64 hex digits: openssl rand -hex 32".formatted(from, has);
    }

    /** Names the key, 16 hex digits. The key cannot be found from it. */
    String id() {
        byte[] id = derive(new byte[0], "farpage key id", 0, ID_BYTES);
        return HexFormat.of().formatHex(id);
    }

    /**
     * Derives a key.
     *
     * @param salt never used before for this purpose
     * @param purpose of the key
     * @param space id of the space that it is for
     */
    byte[] derive(byte[] salt, String purpose, long space) {
        return derive(salt, purpose, space, BYTES);
    }

    private byte[] derive(byte[] salt, String purpose, long space, int bytes) {
        byte[] name = purpose.getBytes(StandardCharsets.US_ASCII);
        byte[] info = ByteBuffer.allocate(name.length + Long.BYTES)
                .put(name)
                .putLong(space)
                .array();
        try {
            return KDF.getInstance("HKDF-SHA256")
                    .deriveData(HKDFParameterSpec.ofExtract()
                            .addIKM(key)
                            .addSalt(salt)
                            .thenExpand(info, bytes));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK from 25 on has HKDF-SHA256", e);
        }
    }

    /** Wipes the key. */
    @Override
    public void close() {
        Arrays.fill(key, (byte) 0);
    }
}
