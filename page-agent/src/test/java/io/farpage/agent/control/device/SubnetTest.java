package io.farpage.agent.control.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class SubnetTest {
    private static String text(String address, int length) throws UnknownHostException {
        return Subnet.text(InetAddress.getByName(address).getAddress(), length);
    }

    @Test
    void shouldClearTheBitsBehindThePrefix() throws UnknownHostException {
        assertEquals("10.77.0.0/16", text("10.77.3.9", 16));
        assertEquals("10.77.2.0/23", text("10.77.3.9", 23));
        assertEquals("10.77.3.9/32", text("10.77.3.9", 32));
        assertEquals("0.0.0.0/0", text("10.77.3.9", 0));
        assertEquals("2001:db8:0:0:0:0:0:0/33", text("2001:db8:7fff::1", 33));
    }

    @Test
    void shouldReadTheSubnetOfAnAddressOfThisHost() {
        Gid loopback = Gid.of(InetAddress.getLoopbackAddress());
        assertEquals(Optional.of("127.0.0.0/8"), Subnet.of(LinkLayer.ETHERNET, loopback));
    }

    @Test
    void shouldNotKnowTheSubnetOfAnAddressThatTheHostLacks() {
        assertEquals(Optional.empty(), Subnet.of(LinkLayer.ETHERNET, Gid.parse("::ffff:192.0.2.1")));
        assertEquals(Optional.empty(), Subnet.of(LinkLayer.ETHERNET, Gid.parse("fe80::1")));
        assertEquals(Optional.empty(), Subnet.of(LinkLayer.ETHERNET, Gid.ZERO));
    }

    @Test
    void shouldTakeThePrefixOfTheGidOnInfiniBand() {
        assertEquals(
                Optional.of("fe80:0:0:0:0:0:0:0/64"),
                Subnet.of(LinkLayer.INFINIBAND, Gid.parse("fe80::5054:ff:fe00:1")));
    }
}
