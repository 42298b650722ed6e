package io.farpage.pool;

import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.pool.hugepages.HugepageReservation;
import io.farpage.pool.hugepages.HugepageSize;

/**
 * A pool on hugepages reserved for it. Others on the machine may take free pages first, so it is tried more than once.
 */
record ReservedPool(PagePool pool, HugepageReservation reservation) implements AutoCloseable {
    private static final int TRIES = 5;

    /** How the pool is made once the pages are reserved. */
    private interface Opening {
        PagePool open(PoolConfig config) throws PoolException;
    }

    static ReservedPool open(PoolConfig config, HugepageSize size, long pages) throws PoolException {
        return open(config, size, pages, PagePool::open);
    }

    static ReservedPool openInFile(PoolConfig config, HugepageSize size, long pages) throws PoolException {
        return open(config, size, pages, PagePool::openInFile);
    }

    private static ReservedPool open(PoolConfig config, HugepageSize size, long pages, Opening opening)
            throws PoolException {
        for (int i = 0; i < TRIES; i++) {
            HugepageReservation reservation = HugepageReservation.additional(size, pages);
            try {
                assumeTrue(reservation.isSufficient(), reservation.description());
                PagePool pool = opening.open(config);
                if (pool.backing() == Backing.of(size)) {
                    return new ReservedPool(pool, reservation);
                }
                pool.close();
            } catch (HugepagesUnavailableException e) {
                if (i == TRIES - 1) {
                    abort("others took the reserved pages each time: " + e.getMessage());
                }
            } catch (RuntimeException | MemoryLockException e) {
                reservation.close();
                throw e;
            }
            reservation.close();
        }
        return abort("others took the reserved pages each time");
    }

    @Override
    public void close() {
        pool.close();
        reservation.close();
    }
}
