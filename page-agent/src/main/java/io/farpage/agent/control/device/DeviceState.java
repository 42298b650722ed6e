package io.farpage.agent.control.device;

/** Whether an open device can carry links. */
public enum DeviceState {
    /** Its port is ACTIVE. */
    USABLE,
    /** Its port is down. Links on it are failed, and it is used again when the port is ACTIVE. */
    PORT_DOWN,
    /** It was removed or has failed for good: it is closed, and opened again when it returns. */
    LOST
}
