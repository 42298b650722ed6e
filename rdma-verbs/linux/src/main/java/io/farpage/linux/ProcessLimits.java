package io.farpage.linux;

import jnr.constants.platform.RLIMIT;
import jnr.constants.platform.Sysconf;
import jnr.posix.POSIX;
import jnr.posix.POSIXFactory;

/** Limits of this process, from {@code getrlimit(2)} and {@code sysconf(3)}. Thread-safe. */
public final class ProcessLimits {
    /** What {@link #lockedMemoryBytes()} gives when there is no limit. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    private static final POSIX POSIX_CALLS = POSIXFactory.getNativePOSIX();

    private ProcessLimits() {}

    /** The soft limit of RLIMIT_MEMLOCK in bytes, or {@link #UNLIMITED}. CAP_IPC_LOCK makes the kernel disregard it. */
    public static long lockedMemoryBytes() {
        long limit = POSIX_CALLS.getrlimit(RLIMIT.RLIMIT_MEMLOCK.intValue()).rlimCur();
        // RLIM_INFINITY is all ones; anything that does not fit a signed long is as good as that.
        return limit < 0 ? UNLIMITED : limit;
    }

    /** The size of a base page in bytes. */
    public static long pageBytes() {
        return POSIX_CALLS.sysconf(Sysconf._SC_PAGESIZE);
    }
}
