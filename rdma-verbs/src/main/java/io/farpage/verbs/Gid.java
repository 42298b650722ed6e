package io.farpage.verbs;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * A 128-bit global identifier of a port, as in {@code union ibv_gid}: written as an IPv6 address.
 *
 * @param high bytes 0 to 7, the subnet prefix, big-endian
 * @param low bytes 8 to 15, the interface id, big-endian
 */
public record Gid(long high, long low) {
    /** The all-zero GID: an empty entry of a port's table. */
    public static final Gid ZERO = new Gid(0, 0);

    private static final long IPV4_MAPPED = 0xFFFF_0000_0000L;

    /**
     * Reads a GID from IPv6 text ({@code fe80::1}, {@code ::ffff:10.0.0.2}) or from 32 hexadecimal digits.
     *
     * @throws IllegalArgumentException naming the text, if it is neither
     */
    public static Gid parse(String text) {
        if (text.length() == 32 && text.indexOf(':') < 0) {
            try {
                return new Gid(HexFormat.fromHexDigitsToLong(text, 0, 16), HexFormat.fromHexDigitsToLong(text, 16, 32));
            } catch (IllegalArgumentException e) {
                throw malformed(text, e);
            }
        }
        // Without a colon the JDK would take the text for a host name and ask a resolver.
        if (text.indexOf(':') < 0 || !text.chars().allMatch(c -> Character.digit(c, 16) >= 0 || c == ':' || c == '.')) {
            throw malformed(text, null);
        }
        try {
            return of(InetAddress.getByName(text));
        } catch (UnknownHostException e) {
            throw malformed(text, e);
        }
    }

    private static IllegalArgumentException malformed(String text, @Nullable Exception cause) {
        return new IllegalArgumentException(
                "gid '" + text + "' is neither an IPv6 address (fe80::1, ::ffff:10.0.0.2) nor 32 hex digits", cause);
    }

    /** The GID that RoCE v2 derives from an IP address: IPv4 addresses are mapped to {@code ::ffff:a.b.c.d}. */
    public static Gid of(InetAddress address) {
        ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
        if (address instanceof Inet4Address) {
            return new Gid(0, IPV4_MAPPED | (bytes.getInt() & 0xFFFF_FFFFL));
        }
        return new Gid(bytes.getLong(), bytes.getLong());
    }

    /** Reads the 16 bytes of a {@code union ibv_gid}, in network order. */
    public static Gid of(byte[] raw) {
        if (raw.length != 16) {
            throw new IllegalArgumentException("a gid has 16 bytes, not " + raw.length);
        }
        ByteBuffer bytes = ByteBuffer.wrap(raw);
        return new Gid(bytes.getLong(), bytes.getLong());
    }

    public boolean isZero() {
        return high == 0 && low == 0;
    }

    /** Whether this is an IPv4-mapped address, as RoCE v2 over IPv4 uses. */
    public boolean isIpv4Mapped() {
        return high == 0 && (low >>> 32) == 0xFFFFL;
    }

    /** Whether this is in {@code fe80::/10}, which routes nowhere. */
    public boolean isLinkLocal() {
        return (high >>> 54) == (0xFE80L >>> 6);
    }

    /** The 16 bytes in network order. */
    public byte[] toBytes() {
        return ByteBuffer.allocate(16).putLong(high).putLong(low).array();
    }

    /** The IP address this GID stands for; an IPv4 address if it is IPv4-mapped. */
    public InetAddress toInetAddress() {
        try {
            return InetAddress.getByAddress(toBytes());
        } catch (UnknownHostException e) {
            throw new AssertionError("16 bytes are an address", e);
        }
    }

    /** IPv6 text; {@code ::ffff:a.b.c.d} for a mapped IPv4 address. */
    @Override
    public String toString() {
        return isIpv4Mapped()
                ? "::ffff:" + toInetAddress().getHostAddress()
                : toInetAddress().getHostAddress();
    }
}
