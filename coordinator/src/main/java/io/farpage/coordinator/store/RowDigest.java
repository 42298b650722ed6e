package io.farpage.coordinator.store;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * A digest of a set of rows that a change of one row changes in constant time: the sum of the SHA-256 of each row, in
 * four words modulo 2⁶⁴. It finds damage. It does not protect against an attacker.
 */
final class RowDigest {

    private static final int WORDS = 4;

    private final long[] sum = new long[WORDS];

    /** Adds a row. */
    void add(Table table, String key, String row) {
        accumulate(table, key, row, 1);
    }

    /** Takes out a row that was added. */
    void remove(Table table, String key, String row) {
        accumulate(table, key, row, -1);
    }

    RowDigest copy() {
        RowDigest copy = new RowDigest();
        System.arraycopy(sum, 0, copy.sum, 0, WORDS);
        return copy;
    }

    /** Takes over the sum of another. */
    void become(RowDigest other) {
        System.arraycopy(other.sum, 0, sum, 0, WORDS);
    }

    private void accumulate(Table table, String key, String row, long sign) {
        MessageDigest sha = Sha256.begin();
        part(sha, table.mapName());
        part(sha, key);
        part(sha, row);
        ByteBuffer words = ByteBuffer.wrap(sha.digest());
        for (int i = 0; i < WORDS; i++) {
            sum[i] += sign * words.getLong();
        }
    }

    /** Each part with its length before it, so that no two rows give the same bytes. */
    private static void part(MessageDigest sha, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        sha.update(ByteBuffer.allocate(Integer.BYTES).putInt(0, bytes.length));
        sha.update(bytes);
    }

    /** 64 hex digits. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        Arrays.stream(sum).forEach(word -> text.append("%016x".formatted(word)));
        return text.toString();
    }
}
