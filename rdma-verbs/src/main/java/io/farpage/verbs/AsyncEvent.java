package io.farpage.verbs;

/**
 * Something that happened outside any work request: {@code struct ibv_async_event}.
 *
 * @param type what happened
 * @param element number of the object that it happened to: qpn for queue pair events, port number for port events,
 *     otherwise 0
 */
public record AsyncEvent(Type type, int element) {
    /** {@code enum ibv_event_type}, in the same order and with the same codes. */
    public enum Type {
        CQ_ERR,
        QP_FATAL,
        QP_REQ_ERR,
        QP_ACCESS_ERR,
        COMM_EST,
        SQ_DRAINED,
        PATH_MIG,
        PATH_MIG_ERR,
        DEVICE_FATAL,
        PORT_ACTIVE,
        PORT_ERR,
        LID_CHANGE,
        PKEY_CHANGE,
        SM_CHANGE,
        SRQ_ERR,
        SRQ_LIMIT_REACHED,
        QP_LAST_WQE_REACHED,
        CLIENT_REREGISTER,
        GID_CHANGE,
        WQ_FATAL,
        /** One that this list does not know. */
        UNKNOWN;

        /** The type with {@code code}. */
        public static Type ofCode(int code) {
            return code >= 0 && code < UNKNOWN.ordinal() ? values()[code] : UNKNOWN;
        }

        /** Whether {@link AsyncEvent#element()} is a queue pair number. */
        public boolean isQueuePairEvent() {
            return switch (this) {
                case QP_FATAL,
                        QP_REQ_ERR,
                        QP_ACCESS_ERR,
                        COMM_EST,
                        SQ_DRAINED,
                        PATH_MIG,
                        PATH_MIG_ERR,
                        QP_LAST_WQE_REACHED -> true;
                default -> false;
            };
        }

        /** Whether {@link AsyncEvent#element()} is a port number. */
        public boolean isPortEvent() {
            return switch (this) {
                case PORT_ACTIVE, PORT_ERR, LID_CHANGE, PKEY_CHANGE, SM_CHANGE, CLIENT_REREGISTER, GID_CHANGE -> true;
                default -> false;
            };
        }
    }
}
