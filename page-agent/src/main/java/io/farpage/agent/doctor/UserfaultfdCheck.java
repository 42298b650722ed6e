package io.farpage.agent.doctor;

import io.farpage.linux.ErrnoName;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Whether page faults of guests can be served: userfaultfd, with what paging and eviction use of it. */
final class UserfaultfdCheck implements Check {
    private static final String ID = "paging.userfaultfd";
    private static final String SUBJECT = "userfaultfd";

    private enum Feature {
        MISSING_HUGETLBFS(4, "guests on hugetlb memory"),
        MISSING_SHMEM(5, "guests on memfd memory"),
        EVENT_REMOVE(3, "balloons"),
        WP_HUGETLBFS_SHMEM(12, "eviction"),
        POISON(14, "poisoning of lost pages");

        private final int bit;
        private final String purpose;

        Feature(int bit, String purpose) {
            this.bit = bit;
            this.purpose = purpose;
        }
    }

    private final Tree tree;
    private final Supplier<UserfaultfdProbe.Outcome> open;

    UserfaultfdCheck(Tree tree, Supplier<UserfaultfdProbe.Outcome> open) {
        this.tree = tree;
        this.open = open;
    }

    @Override
    public List<Line> run() {
        return switch (open.get()) {
            case UserfaultfdProbe.Outcome.Opened(long features) -> List.of(opened(features));
            case UserfaultfdProbe.Outcome.Refused(int errno) -> List.of(refused(errno));
        };
    }

    private static Line opened(long features) {
        List<String> missing = new ArrayList<>();
        for (Feature feature : Feature.values()) {
            if ((features >>> feature.bit & 1) == 0) {
                missing.add(feature + " (" + feature.purpose + ")");
            }
        }
        String detail = "can be opened, features 0x" + Long.toHexString(features);
        return missing.isEmpty()
                ? Line.ok(ID, SUBJECT, detail)
                : Line.warn(
                        ID,
                        SUBJECT,
                        detail + ", without " + String.join(", ", missing),
                        "uname -r  # a newer kernel has them: Linux 6.6 has all");
    }

    private Line refused(int errno) {
        String name = ErrnoName.of(errno);
        String sysctl = tree.text("/proc/sys/vm/unprivileged_userfaultfd").orElse("absent");
        if (tree.isUsable("/dev/userfaultfd")) {
            return Line.ok(ID, SUBJECT, "the system call gives " + name + ", but /dev/userfaultfd may be opened");
        }
        if (sysctl.equals("absent")) {
            return Line.warn(
                    ID,
                    SUBJECT,
                    name + ": this kernel has none, or a container's seccomp profile forbids it",
                    "grep CONFIG_USERFAULTFD /boot/config-$(uname -r)");
        }
        return Line.warn(
                ID,
                SUBJECT,
                name + ": not permitted to this user, vm.unprivileged_userfaultfd is " + sysctl
                        + "; the process whose memory is paged needs it",
                "sysctl -w vm.unprivileged_userfaultfd=1");
    }
}
