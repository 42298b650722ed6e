package io.farpage.agent.doctor;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** What lets processors answer late: frequency scaling, and a clock that costs a system call. */
final class CpuCheck implements Check {
    private static final String CPUS = "/sys/devices/system/cpu";
    private static final String CLOCK = "/sys/devices/system/clocksource/clocksource0/";

    /** Those that are read without a system call. */
    private static final Set<String> FAST_CLOCKS = Set.of("tsc", "kvm-clock", "hyperv_clocksource_tsc_page");

    private final Tree tree;

    CpuCheck(Tree tree) {
        this.tree = tree;
    }

    @Override
    public List<Line> run() {
        return List.of(governor(), clock());
    }

    private Line governor() {
        String id = "host.governor";
        Set<String> governors = new TreeSet<>();
        for (String cpu : tree.names(CPUS)) {
            tree.text(CPUS + "/" + cpu + "/cpufreq/scaling_governor").ifPresent(governors::add);
        }
        if (governors.isEmpty()) {
            return Line.ok(id, "cpu governor", "none: a virtual machine, or the firmware decides");
        }
        return governors.equals(Set.of("performance"))
                ? Line.ok(id, "cpu governor", "performance")
                : Line.warn(
                        id,
                        "cpu governor",
                        String.join(", ", governors) + ": a CPU that slept is slow to answer",
                        "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
    }

    private Line clock() {
        String id = "host.clocksource";
        String current = tree.text(CLOCK + "current_clocksource").orElse("unknown");
        if (FAST_CLOCKS.contains(current)) {
            return Line.ok(id, "clock source", current);
        }
        boolean offered = List.of(
                        tree.text(CLOCK + "available_clocksource").orElse("").split(" "))
                .contains("tsc");
        return Line.warn(
                id,
                "clock source",
                current + ": every look at the time is a system call" + (offered ? "" : ", and tsc is not offered"),
                offered ? "echo tsc > " + CLOCK + "current_clocksource" : "dmesg | grep -i -e tsc -e clocksource");
    }
}
