package io.farpage.verbs;

/**
 * The states of a reliable-connected queue pair (InfiniBand Architecture Specification, volume 1, section 10.3.1), less
 * SQD and SQE, which farpage never enters by itself and treats as {@link #ERR} when a device reports them.
 */
public enum QpState {
    /** Freshly created, or reset: nothing may be posted. */
    RESET,
    /** Bound to a port: receives may be posted, nothing is processed yet. */
    INIT,
    /** Ready to receive: incoming requests are answered, sends are refused. */
    RTR,
    /** Ready to send: fully operational. */
    RTS,
    /** Failed, or moved to ERR by its owner: everything posted completes with {@link WcStatus#WR_FLUSH_ERR}. */
    ERR;

    /**
     * Whether {@code modify_qp} may move a queue pair from this state to {@code next}: one step along
     * RESET→INIT→RTR→RTS, or to ERR or RESET from anywhere. INIT→INIT and RTS→RTS, legal in the specification to change
     * attributes, are not supported and are refused.
     */
    public boolean canMoveTo(QpState next) {
        return switch (next) {
            case RESET, ERR -> true;
            case INIT -> this == RESET;
            case RTR -> this == INIT;
            case RTS -> this == RTR;
        };
    }
}
