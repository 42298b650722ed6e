package io.farpage.verbs.ibverbs;

import io.farpage.linux.Capabilities;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * RLIMIT_MEMLOCK of this process (getrlimit(2)): registered memory is pinned and counts against it.
 *
 * @param bytes soft limit; {@link Long#MAX_VALUE} if there is none
 * @param exempt whether this process has CAP_IPC_LOCK in the initial user namespace, for which there is no limit: the
 *     kernel does not ask for the capabilities that another user namespace gives
 */
record Memlock(long bytes, boolean exempt) {
    private static final int CAP_IPC_LOCK = 14;
    private static final Pattern LIMIT = Pattern.compile("(?m)^Max locked memory +(\\d+|unlimited) ");

    /** Reads the limit; none if {@code proc} does not have it. */
    static Memlock of(Path proc) {
        Matcher limit = LIMIT.matcher(Host.read(proc.resolve("self/limits")).orElse(""));
        long bytes =
                limit.find() && !limit.group(1).equals("unlimited") ? Long.parseLong(limit.group(1)) : Long.MAX_VALUE;
        String status = Host.read(proc.resolve("self/status")).orElse("");
        return new Memlock(
                bytes, Capabilities.isEffective(CAP_IPC_LOCK, status, Host.read(proc.resolve("self/uid_map"))));
    }

    boolean permits(long needed) {
        return exempt || needed <= bytes;
    }

    /** How to get {@code needed} bytes. */
    static String fix(long needed) {
        return "it needs " + needed + ": ulimit -l " + (needed + 1023) / 1024
                + ", or LimitMEMLOCK=infinity in the systemd unit, or a memlock line in /etc/security/limits.conf";
    }

    /** Why registering {@code needed} bytes may have ended in ENOMEM. */
    String refusal(long needed) {
        return exempt || bytes == Long.MAX_VALUE
                ? "the host or the device has no memory for it, or the range is not mapped"
                : "RLIMIT_MEMLOCK is " + bytes + " bytes for all registered memory together; " + fix(needed);
    }
}
