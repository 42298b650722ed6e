package io.farpage.pool;

/**
 * A pool that could not be made; nothing of it is left mapped. The message names what was wanted, what is available and
 * the fix.
 */
public abstract sealed class PoolException extends Exception
        permits HugepagesUnavailableException,
                KeptPoolException,
                MemoryLockException,
                MemoryUnavailableException,
                NumaNodeException {
    private static final long serialVersionUID = 1L;

    private final String fix;

    PoolException(String problem, String fix) {
        super(problem + "; fix: " + fix);
        this.fix = fix;
    }

    /** One line to run or to write. */
    public String fix() {
        return fix;
    }
}
