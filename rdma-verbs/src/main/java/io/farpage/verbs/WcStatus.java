package io.farpage.verbs;

/** How a work request ended: {@code enum ibv_wc_status} (ibv_poll_cq(3)), in the same order and with the same codes. */
public enum WcStatus {
    SUCCESS,
    /** The message did not fit the receive buffer, or a local length was out of range. */
    LOC_LEN_ERR,
    LOC_QP_OP_ERR,
    LOC_EEC_OP_ERR,
    /**
     * A local address, length or lkey named memory that is not registered in the queue pair's domain, or not for this
     * access.
     */
    LOC_PROT_ERR,
    /** The queue pair was in, or went to, ERR before this work request was done. */
    WR_FLUSH_ERR,
    MW_BIND_ERR,
    BAD_RESP_ERR,
    LOC_ACCESS_ERR,
    /**
     * The peer refused the request as malformed: too long for its receive buffer, or an operation that it does not
     * permit.
     */
    REM_INV_REQ_ERR,
    /** The peer refused the rkey, the range or the access. */
    REM_ACCESS_ERR,
    REM_OP_ERR,
    /** The peer did not answer within {@code timeout} and {@code retry_cnt}: dead, unreachable, or not ready. */
    RETRY_EXC_ERR,
    /** The peer had no receive posted within {@code rnr_retry} attempts. */
    RNR_RETRY_EXC_ERR,
    LOC_RDD_VIOL_ERR,
    REM_INV_RD_REQ_ERR,
    REM_ABORT_ERR,
    INV_EECN_ERR,
    INV_EEC_STATE_ERR,
    FATAL_ERR,
    RESP_TIMEOUT_ERR,
    GENERAL_ERR,
    TM_ERR,
    TM_RNDV_INCOMPLETE;

    private static final WcStatus[] BY_CODE = values();

    /** The code in {@code enum ibv_wc_status}. */
    public int code() {
        return ordinal();
    }

    /** The status with {@code code}; {@link #GENERAL_ERR} for one that this list does not know. */
    public static WcStatus ofCode(int code) {
        return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : GENERAL_ERR;
    }
}
