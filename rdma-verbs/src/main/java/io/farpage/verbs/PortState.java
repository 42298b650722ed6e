package io.farpage.verbs;

/** Logical state of a port: {@code enum ibv_port_state}. */
public enum PortState {
    NOP,
    DOWN,
    INIT,
    ARMED,
    ACTIVE,
    ACTIVE_DEFER;

    /** The state with {@code code}; {@link #NOP} for one that this list does not know. */
    public static PortState ofCode(int code) {
        return code >= 0 && code < values().length ? values()[code] : NOP;
    }
}
