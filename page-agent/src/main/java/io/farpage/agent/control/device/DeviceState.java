package io.farpage.agent.control.device;

import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.PortState;

/** Whether an open device can carry links. */
public enum DeviceState {
    /** Its port is ACTIVE. */
    USABLE,
    /** Its port is down. Links on it are failed, and it is used again when the port is ACTIVE. */
    PORT_DOWN,
    /** Its port has no GID, because its network interface has no address. Otherwise as {@link #PORT_DOWN}. */
    NO_GID,
    /** It was removed or has failed for good: it is closed, and opened again when it returns. */
    LOST;

    /** The state of a device that answers. */
    static DeviceState of(PortAttributes port) {
        if (port.state() != PortState.ACTIVE) {
            return PORT_DOWN;
        }
        return port.gid().isZero() ? NO_GID : USABLE;
    }
}
