package io.farpage.agent.control.device;

/** Whether an open device can carry links. */
public enum DeviceState {
    /** Its port is ACTIVE. */
    USABLE,
    /** Its port is down; links on it are given up, and it is used again when the port is back. */
    PORT_DOWN,
    /** It was removed or has failed for good: it is closed, and opened anew when it returns. */
    LOST
}
