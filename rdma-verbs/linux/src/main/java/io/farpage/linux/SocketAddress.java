package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static java.lang.foreign.ValueLayout.OfShort;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;

/**
 * Internet addresses as the C library has them (ip(7), ipv6(7)).
 *
 * <pre>{@code
 * struct sockaddr_in  { sa_family_t sin_family;  in_port_t sin_port;  struct in_addr sin_addr; char pad[8]; };
 * struct sockaddr_in6 { sa_family_t sin6_family; in_port_t sin6_port; uint32_t sin6_flowinfo;
 *                       struct in6_addr sin6_addr; uint32_t sin6_scope_id; };
 * }</pre>
 */
final class SocketAddress {
    static final int MAX_SIZE = 28;

    private static final int INET_SIZE = 16;
    private static final OfShort NETWORK_SHORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

    private SocketAddress() {}

    static MemorySegment encode(InetSocketAddress address, Arena arena) {
        InetAddress ip = address.getAddress();
        if (ip == null) {
            throw new IllegalArgumentException("address '" + address + "' does not resolve");
        }
        boolean v4 = ip instanceof Inet4Address;
        MemorySegment encoded = arena.allocate(v4 ? INET_SIZE : MAX_SIZE, 8);
        encoded.set(JAVA_SHORT, 0, (short) (v4 ? Sockets.AF_INET : Sockets.AF_INET6));
        encoded.set(NETWORK_SHORT, 2, (short) address.getPort());
        byte[] bytes = ip.getAddress();
        MemorySegment.copy(bytes, 0, encoded, JAVA_BYTE, v4 ? 4 : 8, bytes.length);
        if (ip instanceof java.net.Inet6Address v6) {
            encoded.set(JAVA_INT, 24, v6.getScopeId());
        }
        return encoded;
    }

    static InetSocketAddress decode(MemorySegment encoded) {
        int family = encoded.get(JAVA_SHORT, 0);
        int port = Short.toUnsignedInt(encoded.get(NETWORK_SHORT, 2));
        byte[] bytes = switch (family) {
            case Sockets.AF_INET -> new byte[4];
            case Sockets.AF_INET6 -> new byte[16];
            default -> throw new IllegalArgumentException("address family " + family + " is not an internet one");
        };
        MemorySegment.copy(encoded, JAVA_BYTE, bytes.length == 4 ? 4 : 8, bytes, 0, bytes.length);
        try {
            return new InetSocketAddress(InetAddress.getByAddress(bytes), port);
        } catch (UnknownHostException e) {
            throw new AssertionError("4 or 16 bytes are an address", e);
        }
    }
}
