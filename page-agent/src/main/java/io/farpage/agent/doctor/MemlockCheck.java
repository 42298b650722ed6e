package io.farpage.agent.doctor;

import io.farpage.agent.control.device.TransportMode;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.LockPolicy;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Whether the pool may be locked and registered: both count against RLIMIT_MEMLOCK unless the process has CAP_IPC_LOCK. */
final class MemlockCheck implements Check {
    private static final String ID = "memory.memlock";
    private static final int CAP_IPC_LOCK = 14;
    private static final Pattern LIMIT = Pattern.compile("(?m)^Max locked memory +(\\d+|unlimited) ");
    private static final Pattern CAPABILITIES = Pattern.compile("(?m)^CapEff:\\s*([0-9a-f]+)$");

    private final Tree tree;
    private final TransportMode mode;
    private final PoolNeed pool;
    private final boolean hasDevices;

    /** @param hasDevices whether there is a device that memory is registered with */
    MemlockCheck(Tree tree, TransportMode mode, PoolNeed pool, boolean hasDevices) {
        this.tree = tree;
        this.mode = mode;
        this.pool = pool;
        this.hasDevices = hasDevices;
    }

    @Override
    public List<Line> run() {
        String subject = "memlock";
        Matcher limit = LIMIT.matcher(tree.text("/proc/self/limits").orElse(""));
        if (!limit.find()) {
            return List.of(Line.ok(ID, subject, "the limit is not known on this system"));
        }
        if (isExempt()) {
            return List.of(Line.ok(ID, subject, "no limit: this process has CAP_IPC_LOCK"));
        }
        if (limit.group(1).equals("unlimited") || Long.parseLong(limit.group(1)) >= pool.bytes()) {
            return List.of(
                    Line.ok(ID, subject, "limit " + limit.group(1) + ", the pool needs " + pool.bytes() + " bytes"));
        }
        // Hugetlb pages are never swapped, so that they count as locked without a limit; registration does not ask for
        // the kind.
        boolean mustLock = pool.lock() == LockPolicy.REQUIRE && pool.hugepages() != HugepagePolicy.REQUIRE;
        boolean mustRegister = mode == TransportMode.RDMA;
        return List.of(new Line(
                ID,
                subject,
                mustLock || mustRegister ? Level.FAIL : Level.WARN,
                "limit " + limit.group(1) + " bytes, the pool needs " + pool.bytes() + ": it "
                        + (hasDevices ? "cannot be registered with a device" : "may not be locked as a whole"),
                fix(pool.bytes())));
    }

    private boolean isExempt() {
        Matcher capabilities =
                CAPABILITIES.matcher(tree.text("/proc/self/status").orElse(""));
        return capabilities.find() && ((Long.parseUnsignedLong(capabilities.group(1), 16) >>> CAP_IPC_LOCK) & 1) == 1;
    }

    /** For login sessions, in force at the next one; a systemd unit needs {@code LimitMEMLOCK=infinity} instead. */
    static String fix(long bytes) {
        return "echo '* - memlock %d' > /etc/security/limits.d/farpage.conf  # systemd: LimitMEMLOCK=infinity"
                .formatted((bytes + 1023) >> 10);
    }
}
