package io.farpage.pool;

/** Locking is required and RLIMIT_MEMLOCK forbids it. */
public final class MemoryLockException extends PoolException {
    private static final long serialVersionUID = 1L;

    private final long neededBytes;
    private final long limitBytes;

    MemoryLockException(long neededBytes, long limitBytes, String problem, String fix) {
        super(problem, fix);
        this.neededBytes = neededBytes;
        this.limitBytes = limitBytes;
    }

    /** The least limit with which the pool can be locked, if nothing else is. */
    public long neededBytes() {
        return neededBytes;
    }

    /** The limit now, in bytes. */
    public long limitBytes() {
        return limitBytes;
    }
}
