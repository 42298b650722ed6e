package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.Line.check;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.PosixException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/** What the kernel and the machine must have for guests and for threads that answer in time. */
final class HostChecks {
    private static final int CAP_SYS_NICE = 23;
    private static final String CPUS = "/sys/devices/system/cpu/";
    private static final String CLOCK = "/sys/devices/system/clocksource/clocksource0/";

    /** Clocks that are read without a system call. */
    private static final Set<String> FAST_CLOCKS = Set.of("tsc", "kvm-clock", "hyperv_clocksource_tsc_page");

    /** A feature of userfaultfd, by its bit, and what it is for. */
    private record Feature(int bit, String name) {}

    private static final List<Feature> FEATURES = List.of(
            new Feature(4, "MISSING_HUGETLBFS (guests on hugetlb memory)"),
            new Feature(5, "MISSING_SHMEM (guests on memfd memory)"),
            new Feature(3, "EVENT_REMOVE (balloons)"),
            new Feature(12, "WP_HUGETLBFS_SHMEM (eviction)"),
            new Feature(14, "POISON (poisoning of lost pages)"));

    private static final Line.Check USERFAULTFD = check("paging.userfaultfd", "userfaultfd");

    private HostChecks() {}

    /** @param open as of {@link Doctor} */
    static Line userfaultfd(Tree tree, LongSupplier open) {
        try {
            return opened(open.getAsLong());
        } catch (PosixException e) {
            return refused(tree, e.errno());
        }
    }

    /**
     * The line of {@link #userfaultfd} if {@code open} is refused; empty if it gets one, whatever features that has.
     */
    static Optional<Line> userfaultfdRefusal(Tree tree, LongSupplier open) {
        try {
            long _ = open.getAsLong();
            return Optional.empty();
        } catch (PosixException e) {
            return Optional.of(refused(tree, e.errno()));
        }
    }

    private static Line opened(long features) {
        String missing = FEATURES.stream()
                .filter(feature -> (features >>> feature.bit & 1) == 0)
                .map(Feature::name)
                .collect(Collectors.joining(", "));
        String detail = "can be opened, features 0x" + Long.toHexString(features);
        return missing.isEmpty()
                ? USERFAULTFD.ok(detail)
                : USERFAULTFD.warn(
                        detail + ", without " + missing, "uname -r  # a newer kernel has them: Linux 6.6 has all");
    }

    private static Line refused(Tree tree, int errno) {
        String error = ErrnoName.of(errno);
        Optional<String> sysctl = tree.text("/proc/sys/vm/unprivileged_userfaultfd");
        if (errno == Errno.EINVAL) {
            return USERFAULTFD.warn(error + ": this kernel lacks a feature", "uname -r  # Linux 6.6 has all");
        }
        if (sysctl.isEmpty()) {
            return USERFAULTFD.warn(
                    error + ": this kernel has none, or a container's seccomp profile forbids it",
                    "grep CONFIG_USERFAULTFD /boot/config-$(uname -r)");
        }
        return USERFAULTFD.warn(
                error + ": not permitted to this user, vm.unprivileged_userfaultfd is " + sysctl.get()
                        + "; the process whose memory is paged needs it",
                "sysctl -w vm.unprivileged_userfaultfd=1");
    }

    static Line kvm(Host host) {
        Line.Check check = check("paging.kvm", "kvm");
        if (!host.tree().exists("/dev/kvm")) {
            return check.warn(
                    "/dev/kvm does not exist: no virtual machine runs on this node, but it can export memory",
                    "modprobe kvm_intel || modprobe kvm_amd");
        }
        return host.tree().isUsable("/dev/kvm")
                ? check.ok("/dev/kvm can be read and written")
                : check.warn(
                        "/dev/kvm cannot be read and written by this user",
                        "usermod -aG kvm " + System.getProperty("user.name"));
    }

    /** An IOMMU that translates costs time; passing a device to a guest needs one. */
    static List<Line> iommu(Host host) {
        int groups = host.tree().names("/sys/kernel/iommu_groups").size();
        List<Line> lines = new ArrayList<>();
        lines.add(check("host.iommu", "iommu")
                .ok(
                        groups == 0
                                ? "off or none: devices reach memory directly and cannot be passed to guests"
                                : groups + " groups"));
        for (RdmaDevice device : host.used()) {
            Line.Check check = check("host.iommu", "iommu " + device.name());
            host.tree()
                    .text(device.bus() + "/iommu_group/type")
                    .map(type -> type.equals("identity")
                            ? check.ok("passthrough")
                            : check.warn(
                                    "every access is translated (" + type + ")", RdmaChecks.kernelOption("iommu=pt")))
                    .ifPresent(lines::add);
        }
        return lines;
    }

    static Line governor(Host host) {
        Line.Check check = check("host.governor", "cpu governor");
        Set<String> governors = new TreeSet<>();
        for (String cpu : host.tree().names(CPUS)) {
            host.tree().text(CPUS + cpu + "/cpufreq/scaling_governor").ifPresent(governors::add);
        }
        if (governors.isEmpty()) {
            return check.ok("none: a virtual machine, or the firmware decides");
        }
        return governors.equals(Set.of("performance"))
                ? check.ok("performance")
                : check.warn(
                        String.join(", ", governors) + ": a CPU that slept is slow to answer",
                        "echo performance | tee " + CPUS + "cpu*/cpufreq/scaling_governor");
    }

    static Line clock(Host host) {
        Line.Check check = check("host.clocksource", "clock source");
        String current = host.tree().text(CLOCK + "current_clocksource").orElse("unknown");
        if (FAST_CLOCKS.contains(current)) {
            return check.ok(current);
        }
        String offered = host.tree().text(CLOCK + "available_clocksource").orElse("");
        String detail = current + ": every look at the time is a system call";
        return List.of(offered.split(" ")).contains("tsc")
                ? check.warn(detail, "echo tsc > " + CLOCK + "current_clocksource")
                : check.warn(detail + ", and tsc is not offered", "dmesg | grep -i -e tsc -e clocksource");
    }

    /** Whether threads that move pages may take a real-time priority, and what they have otherwise. */
    static Line realTimePriority(Host host) {
        Line.Check check = check("host.realtime", "real-time priority");
        Optional<Integer> configured = host.config().get(AgentKeys.SHARD_PRIORITY);
        if (configured.isEmpty() && host.config().get(AgentKeys.SHARD_IDLE) == IdleStrategy.SPIN) {
            return check.ok("not taken: shard.idle is spin");
        }
        int wanted = configured.orElse(1);
        if (wanted == 0) {
            return check.ok("not taken: shard.realtime_priority is 0");
        }
        if (host.hasCapability(CAP_SYS_NICE)) {
            return check.ok(wanted + " may be taken: this process has CAP_SYS_NICE");
        }
        int limit = host.limit("Max realtime priority")
                .map(text -> text.equals("unlimited") ? 99 : Integer.parseInt(text))
                .orElse(0);
        if (limit >= wanted) {
            return check.ok(wanted + " may be taken: the limit is " + limit);
        }
        String slices = host.isKernelSince(6, 12)
                ? "threads that move pages have slices of 0.1 ms instead"
                : "and Linux before 6.12 has no shorter slices for them";
        return check.warn(
                "%d is not permitted, %s: faults are slower on a busy host".formatted(wanted, slices),
                "echo '* - rtprio %d' > /etc/security/limits.d/farpage-rtprio.conf  # systemd: LimitRTPRIO=%d"
                        .formatted(wanted, wanted));
    }

    /**
     * Whether a GPU's memory could be registered with an RDMA device: by nvidia-peermem, or by dma-buf with the open
     * driver.
     */
    static Line gpuDirect(Host host) {
        Line.Check check = check("gpu.direct", "gpudirect");
        Tree tree = host.tree();
        if (!hasNvidiaGpu(tree)) {
            return check.ok("not needed: no NVIDIA GPU");
        }
        if (tree.hasModule("nvidia_peermem") || tree.hasModule("nv_peer_mem")) {
            return check.ok("nvidia-peermem is loaded");
        }
        String driver = tree.text("/proc/driver/nvidia/version").orElse("");
        // ib_umem_dmabuf came with Linux 5.12.
        if (driver.contains("Open Kernel Module") && host.isKernelSince(5, 12)) {
            return check.ok("dma-buf: the open NVIDIA driver exports it and this kernel registers it");
        }
        return check.warn(
                driver.isEmpty()
                        ? "an NVIDIA GPU without its driver; install MLNX_OFED or DOCA before that"
                        : "neither nvidia-peermem nor dma-buf: GPU memory goes through host memory",
                "modprobe nvidia-peermem");
    }

    /** Display (0x03) and 3D controllers; the GPU's audio function has another class. */
    private static boolean hasNvidiaGpu(Tree tree) {
        String devices = "/sys/bus/pci/devices/";
        return tree.names(devices).stream()
                .anyMatch(name -> tree.text(devices + name + "/vendor")
                                .orElse("")
                                .equals("0x10de")
                        && tree.text(devices + name + "/class").orElse("").startsWith("0x03"));
    }
}
