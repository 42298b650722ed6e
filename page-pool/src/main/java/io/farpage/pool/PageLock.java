package io.farpage.pool;

import io.farpage.linux.Memory;
import io.farpage.linux.ProcessLimits;
import io.farpage.linux.SystemCall;
import java.util.Optional;

/**
 * Locks a pool's pages. For hugetlb pages mlock changes nothing, as they are never swapped, but it is subject to the
 * same limit as a device's pinning of the pool, so it shows early that a registration would be refused.
 */
final class PageLock {
    private PageLock() {}

    /** Locks; gives what was not had, or nothing if all is well. */
    static Optional<BackingStep> lock(Mapping mapping, PoolLayout layout, Backing backing, LockPolicy policy)
            throws MemoryLockException {
        long needed = PoolLayout.HEADER_BYTES + layout.bodyBytes();
        SystemCall call = Memory.mlock(mapping.address() + PoolLayout.exportedOffset(), layout.bodyBytes());
        if (call.succeeded()) {
            call = Memory.mlock(mapping.address(), PoolLayout.HEADER_BYTES);
        }
        if (call.succeeded()) {
            return Optional.empty();
        }
        long limit = ProcessLimits.lockedMemoryBytes();
        String problem = "mlock of %d bytes: %s; RLIMIT_MEMLOCK is %s, at least %d is needed"
                .formatted(needed, call.error(), limit == ProcessLimits.UNLIMITED ? "unlimited" : limit, needed);
        String fix = "ulimit -l %d, or LimitMEMLOCK=infinity in the unit, or CAP_IPC_LOCK"
                .formatted(Math.ceilDiv(needed, 1024));
        if (backing.isHugetlb()) {
            return Optional.of(new BackingStep(
                    BackingStep.What.PINNING_LIMITED,
                    "hugetlb pages stay in memory, but a device that pins the pool will be refused: " + problem,
                    fix));
        }
        if (policy == LockPolicy.REQUIRE) {
            throw new MemoryLockException(needed, limit, problem, fix);
        }
        return Optional.of(new BackingStep(BackingStep.What.NOT_LOCKED, problem, fix));
    }
}
