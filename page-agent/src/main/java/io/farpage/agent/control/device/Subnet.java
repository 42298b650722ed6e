package io.farpage.agent.control.device;

import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import java.net.InetAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.Optional;

/** The subnet that a port's GID belongs to, as text that is equal on all nodes of the subnet. */
final class Subnet {
    private Subnet() {}

    /**
     * On InfiniBand the prefix of the GID. Elsewhere that of the network interface with the GID's address.
     *
     * @return empty if no network interface of this network namespace has the address, or it is link-local
     */
    static Optional<String> of(LinkLayer layer, Gid gid) {
        if (layer == LinkLayer.INFINIBAND) {
            return Optional.of(text(new Gid(gid.high(), 0).toInetAddress().getAddress(), Long.SIZE));
        }
        if (gid.isZero() || gid.isLinkLocal()) {
            return Optional.empty();
        }
        InetAddress address = gid.toInetAddress();
        try {
            return Optional.ofNullable(NetworkInterface.getByInetAddress(address)).stream()
                    .flatMap(found -> found.getInterfaceAddresses().stream())
                    .filter(one -> one.getAddress().equals(address))
                    .findFirst()
                    .map(InterfaceAddress::getNetworkPrefixLength)
                    .map(length -> text(address.getAddress(), length));
        } catch (SocketException e) {
            return Optional.empty(); // the subnet is unknown
        }
    }

    /** The network of an address, such as 10.0.0.0/16. */
    static String text(byte[] address, int prefixLength) {
        byte[] network = address.clone();
        for (int bit = prefixLength; bit < network.length * Byte.SIZE; bit++) {
            network[bit / Byte.SIZE] &= (byte) ~(0x80 >>> bit % Byte.SIZE);
        }
        try {
            return InetAddress.getByAddress(network).getHostAddress() + "/" + prefixLength;
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("an address has 4 or 16 bytes, not " + address.length, e);
        }
    }
}
