package io.farpage.pool;

/** There is not enough memory, on the machine or under the control group's limit. */
public final class MemoryUnavailableException extends PoolException {
    private static final long serialVersionUID = 1L;

    private final long neededBytes;

    MemoryUnavailableException(long neededBytes, String problem, String fix) {
        super(problem, fix);
        this.neededBytes = neededBytes;
    }

    /** How much the pool needs, in bytes. */
    public long neededBytes() {
        return neededBytes;
    }
}
