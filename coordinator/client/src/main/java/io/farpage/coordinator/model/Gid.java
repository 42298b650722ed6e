package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.nio.ByteBuffer;
import java.util.HexFormat;

/**
 * A global identifier of an RDMA port, 128 bits. Read from IPv6 text or 32 hex digits, written as IPv6 text as RFC 5952
 * asks.
 *
 * @param high the first eight bytes, network order
 * @param low the last eight bytes, network order
 */
public record Gid(long high, long low) {

    /** The GID of all zeros, which addresses nothing. */
    public static final Gid ZERO = new Gid(0, 0);

    /**
     * Reads IPv6 text ({@code fe80::1}, {@code ::ffff:10.0.0.1}) or 32 hex digits.
     *
     * @throws IllegalArgumentException if it is neither
     */
    @JsonCreator
    public static Gid parse(String text) {
        if (text.matches("[0-9a-fA-F]{32}")) {
            return ofBytes(HexFormat.of().parseHex(text));
        }
        return ofBytes(Ipv6Text.parse(text)
                .orElseThrow(() -> new IllegalArgumentException(
                        "gid: '%s' must be an IPv6 address or 32 hex digits".formatted(text))));
    }

    /**
     * From its 16 bytes in network order.
     *
     * @throws IllegalArgumentException if there are not 16
     */
    public static Gid ofBytes(byte[] bytes) {
        if (bytes.length != 16) {
            throw new IllegalArgumentException("gid: " + bytes.length + " bytes instead of 16");
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new Gid(buffer.getLong(), buffer.getLong());
    }

    /** IPv6 text. */
    @JsonValue
    @Override
    public String toString() {
        return Ipv6Text.format(high, low);
    }
}
