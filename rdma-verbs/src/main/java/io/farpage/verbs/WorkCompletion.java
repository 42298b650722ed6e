package io.farpage.verbs;

/**
 * One work completion: {@code struct ibv_wc}. A mutable value that {@link CompletionQueue#poll} fills in, made once and
 * used again, so that polling allocates nothing.
 *
 * <p>As in verbs, only {@link #wrId()}, {@link #status()}, {@link #qpn()} and {@link #vendorError()} mean anything when
 * the status is not {@link WcStatus#SUCCESS}.
 */
public final class WorkCompletion {
    private long wrId;
    private WcStatus status = WcStatus.GENERAL_ERR;
    private WcOpcode opcode = WcOpcode.SEND;
    private int vendorError;
    private int byteLength;
    private int qpn;

    /** An array of {@code count} completions to poll into. */
    public static WorkCompletion[] array(int count) {
        WorkCompletion[] all = new WorkCompletion[count];
        for (int i = 0; i < count; i++) {
            all[i] = new WorkCompletion();
        }
        return all;
    }

    /** Fills in every field; for providers. */
    public void set(long wrId, WcStatus status, WcOpcode opcode, int vendorError, int byteLength, int qpn) {
        this.wrId = wrId;
        this.status = status;
        this.opcode = opcode;
        this.vendorError = vendorError;
        this.byteLength = byteLength;
        this.qpn = qpn;
    }

    /** The id that the work request was posted with. */
    public long wrId() {
        return wrId;
    }

    public WcStatus status() {
        return status;
    }

    public boolean isSuccess() {
        return status == WcStatus.SUCCESS;
    }

    public WcOpcode opcode() {
        return opcode;
    }

    /** Provider-specific detail of a failure; 0 when there is none. */
    public int vendorError() {
        return vendorError;
    }

    /** Bytes received or read. Defined for receives and READs. */
    public int byteLength() {
        return byteLength;
    }

    /** Number of the local queue pair that this completes on. */
    public int qpn() {
        return qpn;
    }

    @Override
    public String toString() {
        return "wr %d on qp 0x%06x: %s%s"
                .formatted(
                        wrId,
                        qpn,
                        status,
                        isSuccess()
                                ? " " + opcode
                                : vendorError == 0 ? "" : " (vendor error 0x%x)".formatted(vendorError));
    }
}
