package io.farpage.verbs;

import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * A prefix of GIDs, or of the addresses that they stand for: {@code fe80::/10}, {@code 10.0.0.0/8}. IPv4 is taken as
 * mapped, so {@code 10.0.0.0/8} is {@code ::ffff:10.0.0.0/104}.
 *
 * @param prefix the first GID of the range
 * @param bits leading bits that a GID has in common with {@code prefix}, 0..128
 */
public record GidRange(Gid prefix, int bits) {
    private static final int IPV4_BITS = 32;
    private static final int ALL_BITS = 128;

    /** Checks the bits. */
    public GidRange {
        if (bits < 0 || bits > ALL_BITS) {
            throw new IllegalArgumentException("prefix length " + bits + " is not within 0..128");
        }
        if (!prefix.equals(new Gid(prefix.high() & mask(bits), prefix.low() & mask(bits - Long.SIZE)))) {
            throw new IllegalArgumentException("'" + prefix + "/" + bits
                    + "' has bits set behind its prefix; clear them, or make the prefix longer");
        }
    }

    /**
     * Reads an address or a GID, alone or with {@code /bits} behind it.
     *
     * @throws IllegalArgumentException naming the text, if it is neither
     */
    public static GidRange parse(String text) {
        int slash = text.indexOf('/');
        String address = slash < 0 ? text : text.substring(0, slash);
        boolean isIpv4 = address.indexOf(':') < 0 && address.indexOf('.') >= 0;
        Gid gid = isIpv4 ? ipv4(address) : Gid.parse(address);
        int width = isIpv4 ? IPV4_BITS : ALL_BITS;
        int bits = slash < 0 ? width : number(text, slash + 1, width);
        return new GidRange(gid, bits + ALL_BITS - width);
    }

    private static Gid ipv4(String text) {
        // Anything else the JDK would take for a host name and ask a resolver.
        if (!text.matches("\\d{1,3}(\\.\\d{1,3}){3}")) {
            throw new IllegalArgumentException("'" + text + "' is not an IPv4 address");
        }
        try {
            return Gid.of(InetAddress.getByName(text));
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("'" + text + "' is not an IPv4 address", e);
        }
    }

    private static int number(String text, int from, int max) {
        String digits = text.substring(from);
        int bits = digits.matches("\\d{1,3}") ? Integer.parseInt(digits) : max + 1;
        if (bits > max) {
            throw new IllegalArgumentException(
                    "'" + text + "' has no prefix length of 0 to " + max + " after its slash");
        }
        return bits;
    }

    /** Whether {@code gid} is one of these. */
    public boolean contains(Gid gid) {
        return (gid.high() & mask(bits)) == prefix.high() && (gid.low() & mask(bits - Long.SIZE)) == prefix.low();
    }

    /** A mask of the {@code leading} upper bits of a long. */
    private static long mask(int leading) {
        if (leading <= 0) {
            return 0;
        }
        return leading >= Long.SIZE ? -1L : -1L << (Long.SIZE - leading);
    }

    /** The prefix, a slash and the bits; IPv4 as it is usually written. */
    @Override
    public String toString() {
        return prefix.isIpv4Mapped() && bits >= ALL_BITS - IPV4_BITS
                ? prefix.toInetAddress().getHostAddress() + "/" + (bits - (ALL_BITS - IPV4_BITS))
                : prefix + "/" + bits;
    }
}
