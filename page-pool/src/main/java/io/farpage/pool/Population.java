package io.farpage.pool;

import io.farpage.linux.Errno;
import io.farpage.linux.Memory;
import io.farpage.linux.ProcessLimits;
import io.farpage.linux.SystemCall;
import java.util.Optional;

/** Faults every page in before its first use, so that a lack of pages is an error and not a SIGBUS. */
final class Population {
    /** Each call continues where the last one stopped. */
    private static final int RETRIES = 100;

    private Population() {}

    /** Populates the range; gives what went wrong, if anything did. */
    static Optional<String> populate(long address, long bytes) {
        SystemCall call = Memory.madvise(address, bytes, Memory.MADV_POPULATE_WRITE);
        for (int i = 0; i < RETRIES && (call.failedWith(Errno.EINTR) || call.failedWith(Errno.EAGAIN)); i++) {
            call = Memory.madvise(address, bytes, Memory.MADV_POPULATE_WRITE);
        }
        return call.failedWith(Errno.EINVAL) ? touch(address, bytes) : outcome("madvise(MADV_POPULATE_WRITE)", call);
    }

    /** For kernels before 5.14. */
    static Optional<String> touch(long address, long bytes) {
        return outcome("touching", Memory.touch(address, bytes, ProcessLimits.pageBytes()));
    }

    private static Optional<String> outcome(String what, SystemCall call) {
        if (call.succeeded()) {
            return Optional.empty();
        }
        String meaning = switch (call.errno()) {
            case Errno.EFAULT ->
                ": no page is available (a hugetlb control group's limit, or a NUMA node without free pages)";
            case Errno.ENOMEM -> ": out of memory";
            case Errno.EHWPOISON -> ": a page is poisoned by a hardware error";
            default -> "";
        };
        return Optional.of(what + ": " + call.error() + meaning);
    }
}
