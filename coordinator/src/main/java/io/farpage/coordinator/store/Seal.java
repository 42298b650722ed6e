package io.farpage.coordinator.store;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * What the last commit left: its number and the digest of all rows. Kept in the store and, apart from it, in a
 * {@link SealFile}.
 *
 * @param revision number of commits
 * @param digest of all rows, 64 hex digits
 */
record Seal(long revision, String digest) {

    /** The seal of a store without a row. */
    static final Seal EMPTY = new Seal(0, new RowDigest().toString());

    /** Bytes of a seal as it is written. */
    static final int BYTES = 128;

    private static final Pattern FORM = Pattern.compile("seal ([0-9]{1,18}) ([0-9a-f]{64}) ([0-9a-f]{8})\n *\n?");

    /** One line of text with a checksum, filled up with spaces. */
    byte[] bytes() {
        String text = "seal %d %s".formatted(revision, digest);
        String line = "%s %08x%n".formatted(text, checksum(text)).replace("\r", "");
        return "%-127s\n".formatted(line).getBytes(StandardCharsets.US_ASCII);
    }

    /** Reads a seal; empty if the bytes are not one. */
    static Optional<Seal> read(byte[] bytes) {
        Matcher matcher = FORM.matcher(new String(bytes, StandardCharsets.US_ASCII));
        if (!matcher.matches()) {
            return Optional.empty();
        }
        Seal seal = new Seal(Long.parseLong(matcher.group(1)), matcher.group(2));
        String text = "seal %d %s".formatted(seal.revision, seal.digest);
        return "%08x".formatted(checksum(text)).equals(matcher.group(3)) ? Optional.of(seal) : Optional.empty();
    }

    private static long checksum(String text) {
        CRC32C crc = new CRC32C();
        crc.update(text.getBytes(StandardCharsets.US_ASCII));
        return crc.getValue();
    }
}
