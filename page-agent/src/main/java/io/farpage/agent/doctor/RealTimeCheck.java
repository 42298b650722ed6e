package io.farpage.agent.doctor;

import io.farpage.agent.data.shard.IdleStrategy;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Whether threads that move pages may take a real-time priority, and what they have otherwise. */
final class RealTimeCheck implements Check {
    private static final String ID = "host.realtime";
    private static final String SUBJECT = "real-time priority";
    private static final int CAP_SYS_NICE = 23;
    private static final Pattern LIMIT = Pattern.compile("(?m)^Max realtime priority +(\\d+|unlimited) ");
    private static final Pattern CAPABILITIES = Pattern.compile("(?m)^CapEff:\\s*([0-9a-f]+)$");
    private static final Pattern KERNEL = Pattern.compile("^(\\d+)\\.(\\d+).*", Pattern.DOTALL);

    private final Tree tree;
    private final IdleStrategy idle;
    private final Optional<Integer> configured;

    /** @param configured the value of {@code shard.realtime_priority}; empty for {@code auto} */
    RealTimeCheck(Tree tree, IdleStrategy idle, Optional<Integer> configured) {
        this.tree = tree;
        this.idle = idle;
        this.configured = configured;
    }

    @Override
    public List<Line> run() {
        if (configured.isEmpty() && idle == IdleStrategy.SPIN) {
            return List.of(Line.ok(ID, SUBJECT, "not taken: shard.idle is spin"));
        }
        int wanted = configured.orElse(1);
        if (wanted == 0) {
            return List.of(Line.ok(ID, SUBJECT, "not taken: shard.realtime_priority is 0"));
        }
        if (hasCapability()) {
            return List.of(Line.ok(ID, SUBJECT, wanted + " may be taken: this process has CAP_SYS_NICE"));
        }
        OptionalInt limit = limit();
        if (limit.isPresent() && limit.getAsInt() >= wanted) {
            return List.of(Line.ok(ID, SUBJECT, wanted + " may be taken: the limit is " + limit.getAsInt()));
        }
        String slices = isKernelSince(6, 12)
                ? "threads that move pages have slices of 0.1 ms instead"
                : "and Linux before 6.12 has no shorter slices for them";
        return List.of(Line.warn(
                ID,
                SUBJECT,
                "%d is not permitted, %s: faults are slower on a busy host".formatted(wanted, slices),
                "echo '* - rtprio %d' > /etc/security/limits.d/farpage-rtprio.conf  # systemd: LimitRTPRIO=%d"
                        .formatted(wanted, wanted)));
    }

    private boolean hasCapability() {
        Matcher capabilities =
                CAPABILITIES.matcher(tree.text("/proc/self/status").orElse(""));
        return capabilities.find() && ((Long.parseUnsignedLong(capabilities.group(1), 16) >>> CAP_SYS_NICE) & 1) == 1;
    }

    private OptionalInt limit() {
        Matcher limit = LIMIT.matcher(tree.text("/proc/self/limits").orElse(""));
        if (!limit.find()) {
            return OptionalInt.empty();
        }
        return OptionalInt.of(limit.group(1).equals("unlimited") ? 99 : Integer.parseInt(limit.group(1)));
    }

    private boolean isKernelSince(int major, int minor) {
        Matcher kernel = KERNEL.matcher(tree.text("/proc/sys/kernel/osrelease").orElse(""));
        if (!kernel.matches()) {
            return false;
        }
        int itsMajor = Integer.parseInt(kernel.group(1));
        return itsMajor > major || (itsMajor == major && Integer.parseInt(kernel.group(2)) >= minor);
    }
}
