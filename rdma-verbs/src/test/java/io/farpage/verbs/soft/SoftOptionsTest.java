package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.VerbsException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class SoftOptionsTest {
    @Test
    void shouldOfferItsDeviceWhereverNativeAccessIsAllowed() {
        Availability.Available found = assertInstanceOf(Availability.Available.class, new SoftProvider().probe());
        assertEquals(List.of("soft0"), found.devices());
    }

    @Test
    void shouldNameThePortThatIsInUse() {
        SoftProvider provider = new SoftProvider();
        try (Device first = provider.open("soft0")) {
            int port = first.queryPort().lid();
            SoftProvider second = new SoftProvider(listeningOn(
                    new InetSocketAddress(first.queryPort().gid().toInetAddress(), port), Optional.empty()));
            VerbsException e = assertThrows(VerbsException.class, () -> second.open("soft0"));
            assertTrue(String.valueOf(e.getMessage()).contains("EADDRINUSE"), e::toString);
            assertTrue(String.valueOf(e.getMessage()).contains(String.valueOf(port)), e::toString);
        }
    }

    @Test
    void shouldDemandAnAdvertisedAddressForAWildcard() {
        InetSocketAddress wildcard = new InetSocketAddress(0);
        IllegalArgumentException e =
                assertThrows(IllegalArgumentException.class, () -> listeningOn(wildcard, Optional.empty()));
        assertTrue(String.valueOf(e.getMessage()).contains("advertised"), e::toString);
        SoftOptions fine = listeningOn(wildcard, Optional.of(InetAddress.getLoopbackAddress()));
        assertTrue(fine.listening().published().isLoopbackAddress());
    }

    @Test
    void shouldRefuseToOpenADeviceItDoesNotHave() {
        assertThrows(VerbsException.class, () -> new SoftProvider().open("mlx5_0"));
    }

    @Test
    void shouldConnectOverIpv6() {
        SoftOptions v6 = listeningOn(new InetSocketAddress("::1", 0), Optional.empty());
        try (Loopback pair = new Loopback(v6)) {
            pair.requireWorking();
        }
    }

    private static SoftOptions listeningOn(InetSocketAddress address, Optional<InetAddress> advertised) {
        return new SoftOptions(
                new SoftOptions.Listening(address, advertised, 0),
                SoftOptions.DEFAULT.responders(),
                SoftOptions.DEFAULT.admission());
    }
}
