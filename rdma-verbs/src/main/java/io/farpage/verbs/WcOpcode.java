package io.farpage.verbs;

/**
 * What a work completion completes: {@code enum ibv_wc_opcode}. Defined only when the status is
 * {@link WcStatus#SUCCESS}.
 */
public enum WcOpcode {
    SEND(0),
    RDMA_WRITE(1),
    RDMA_READ(2),
    RECV(128);

    private static final WcOpcode[] SENDS = {SEND, RDMA_WRITE, RDMA_READ};

    private final int code;

    WcOpcode(int code) {
        this.code = code;
    }

    /** The code in {@code enum ibv_wc_opcode}. */
    public int code() {
        return code;
    }

    /**
     * The opcode with {@code code}.
     *
     * @throws IllegalArgumentException for a code that farpage never posts
     */
    public static WcOpcode ofCode(int code) {
        if (code >= 0 && code < SENDS.length) {
            return SENDS[code];
        }
        if (code == RECV.code) {
            return RECV;
        }
        throw new IllegalArgumentException("unknown work completion opcode " + code);
    }
}
