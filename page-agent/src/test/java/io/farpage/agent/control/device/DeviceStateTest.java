package io.farpage.agent.control.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import io.farpage.verbs.Mtu;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.PortState;
import org.junit.jupiter.api.Test;

/** What a port must have to carry links. */
final class DeviceStateTest {
    private static DeviceState of(PortState state, String gid) {
        return DeviceState.of(
                new PortAttributes(1, state, LinkLayer.ETHERNET, Mtu.MTU_1024, 0, 1, Gid.parse(gid), false));
    }

    @Test
    void shouldBeUsableOnlyWithAnActivePortAndAGid() {
        assertEquals(DeviceState.USABLE, of(PortState.ACTIVE, "::ffff:10.0.0.1"));
        assertEquals(DeviceState.NO_GID, of(PortState.ACTIVE, "::"));
        assertEquals(DeviceState.PORT_DOWN, of(PortState.DOWN, "::ffff:10.0.0.1"));
        assertEquals(DeviceState.PORT_DOWN, of(PortState.DOWN, "::"));
    }
}
