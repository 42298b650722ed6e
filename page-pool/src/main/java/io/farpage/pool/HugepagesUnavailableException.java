package io.farpage.pool;

import io.farpage.pool.hugepages.HugepageSize;

/** Hugepages are required and not available. */
public final class HugepagesUnavailableException extends PoolException {
    private static final long serialVersionUID = 1L;

    private final HugepageSize size;
    private final long wanted;
    private final long available;

    HugepagesUnavailableException(HugepageSize size, long wanted, long available, String problem, String fix) {
        super(problem, fix);
        this.size = size;
        this.wanted = wanted;
        this.available = available;
    }

    /** The size that was wanted. */
    public HugepageSize size() {
        return size;
    }

    /** How many hugepages the pool needs. */
    public long wanted() {
        return wanted;
    }

    /** How many were free and not reserved when they were asked for. */
    public long available() {
        return available;
    }
}
