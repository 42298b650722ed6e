package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.Line.check;

import io.farpage.agent.config.QueuePairMemory;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.LockPolicy;
import io.farpage.pool.hugepages.HugepageSize;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Whether the pool gets its memory, and what the kernel may do with it behind the agent's back: migrate it, split it,
 * swap it.
 */
final class MemoryChecks {
    private static final int CAP_IPC_LOCK = 14;
    private static final String THP = "/sys/kernel/mm/transparent_hugepage/enabled";

    private MemoryChecks() {}

    /**
     * Locking and registering both count against RLIMIT_MEMLOCK unless the process has CAP_IPC_LOCK in the initial user
     * namespace.
     */
    static Line memlock(Host host) {
        Line.Check check = check("memory.memlock", "memlock");
        long needed = host.pool().bytes();
        Optional<String> limit = host.limit("Max locked memory");
        if (limit.isEmpty()) {
            return check.ok("the limit is not known on this system");
        }
        if (host.hasCapability(CAP_IPC_LOCK)) {
            return check.ok("no limit: this process has CAP_IPC_LOCK");
        }
        if (limit.get().equals("unlimited") || Long.parseLong(limit.get()) >= needed) {
            return check.ok("limit " + limit.get() + ", the pool needs " + needed + " bytes");
        }
        // Hugetlb pages are never swapped, so that they count as locked without a limit; registration does not ask for
        // the kind.
        boolean mustLock =
                host.pool().lock() == LockPolicy.REQUIRE && host.pool().hugepages() != HugepagePolicy.REQUIRE;
        return check.found(
                mustLock || host.mode() == TransportMode.RDMA ? Level.FAIL : Level.WARN,
                "limit " + limit.get() + " bytes, the pool needs " + needed + ": it "
                        + (host.used().isEmpty()
                                ? "may not be locked as a whole"
                                : "cannot be registered with a device"),
                raiseMemlock(needed));
    }

    /** Whether the JVM permits the native memory of all links that the configuration permits. */
    static Line queuePairs(QueuePairMemory memory) {
        Line.Check check = check("memory.queue_pairs", "queue pairs");
        return memory.shortage()
                .map(shortage -> check.warn(shortage, "export FARPAGE_JAVA_OPTS=" + memory.flag()))
                .orElseGet(() -> check.ok(memory.toString()));
    }

    /** For login sessions, in force at the next one; a systemd unit needs {@code LimitMEMLOCK=infinity} instead. */
    static String raiseMemlock(long bytes) {
        return "echo '* - memlock %d' > /etc/security/limits.d/farpage.conf  # systemd: LimitMEMLOCK=infinity"
                .formatted((bytes + 1023) >> 10);
    }

    /** Free hugepages of the configured size and, for comparison, of the other size. */
    static List<Line> hugepages(Host host) {
        return List.of(HugepageSize.values()).stream()
                .map(size -> hugepages(host, size))
                .toList();
    }

    private static Line hugepages(Host host, HugepageSize size) {
        Line.Check check = check("memory.hugepages", "hugepages " + size);
        PoolNeed pool = host.pool();
        String folder = pool.numaNode()
                        .map(node -> "/sys/devices/system/node/node" + node + "/hugepages/")
                        .orElse("/sys/kernel/mm/hugepages/")
                + size.folder();
        String where = pool.numaNode().map(node -> " at NUMA node " + node).orElse("");
        Optional<Long> total = host.tree().number(folder + "/nr_hugepages");
        boolean wanted = size == pool.hugepageSize() && pool.hugepages() != HugepagePolicy.OFF;
        if (total.isEmpty()) {
            return wanted
                    ? check.found(
                            required(pool),
                            "not offered by this kernel" + where,
                            "export FARPAGE_POOL_HUGEPAGE_SIZE=" + (size == HugepageSize.ONE_GIB ? "2MiB" : "1GiB"))
                    : check.ok("not offered by this kernel; not configured");
        }
        // Hugepages of one node have no count of promised ones of their own.
        long free = host.tree().number(folder + "/free_hugepages").orElse(0L);
        long promised = host.tree().number(folder + "/resv_hugepages").orElse(0L);
        long available = Math.max(0, free - promised);
        String counts = available + " of " + total.get() + " free" + where;
        if (!wanted) {
            return check.ok(counts + "; not configured");
        }
        String detail = counts + ", the pool needs " + pool.pages();
        return available >= pool.pages()
                ? check.ok(detail)
                : check.found(
                        required(pool),
                        detail
                                + (pool.hugepages() == HugepagePolicy.REQUIRE
                                        ? ""
                                        : "; it will be made of smaller pages"),
                        "echo %d > %s/nr_hugepages".formatted(total.get() + pool.pages() - available, folder));
    }

    private static Level required(PoolNeed pool) {
        return pool.hugepages() == HugepagePolicy.REQUIRE ? Level.FAIL : Level.WARN;
    }

    static Line numaNode(Host host) {
        Line.Check check = check("memory.numa", "numa nodes");
        Optional<Integer> wanted = host.pool().numaNode();
        return wanted.isEmpty() || host.tree().exists("/sys/devices/system/node/node" + wanted.get())
                ? check.ok(host.numaNodes()
                        + wanted.map(node -> ", the pool goes to " + node).orElse(""))
                : check.fail(
                        "pool.numa_node is " + wanted.get() + " and this host has no such node",
                        "lscpu | grep -i numa");
    }

    static Line numaBalancing(Host host) {
        Line.Check check = check("memory.numa_balancing", "numa balancing");
        boolean on = host.tree().number("/proc/sys/kernel/numa_balancing").orElse(0L) != 0;
        return on && host.numaNodes() > 1
                ? check.warn(
                        "on: pages are unmapped to see who uses them, which faults",
                        "sysctl -w kernel.numa_balancing=0")
                : check.ok(on ? "on, with one node" : "off");
    }

    static Line transparentHugepages(Host host) {
        Line.Check check = check("memory.thp", "transparent hugepages");
        String setting = host.tree().text(THP).orElse("not offered by this kernel");
        return setting.contains("[never]") && host.pool().hugepages() == HugepagePolicy.PREFER
                ? check.warn(
                        setting + ": without hugetlb pages the pool is made of 4 KiB ones", "echo madvise > " + THP)
                : check.ok(setting);
    }

    static Line swap(Host host) {
        Line.Check check = check("memory.swap", "swap");
        List<String> areas = host.tree().lines("/proc/swaps").stream()
                .skip(1)
                .map(line -> line.split("\\s+", 2)[0])
                .toList();
        return areas.isEmpty()
                ? check.ok("none")
                : check.warn(
                        "on (" + String.join(", ", areas) + "): what is not locked can wait for a disk", "swapoff -a");
    }

    /** Whether control groups leave room for the pool and for RDMA objects. */
    static List<Line> controlGroups(Host host) {
        ControlGroup groups = new ControlGroup(host.tree());
        List<Line> lines = new ArrayList<>();
        lines.add(memoryGroup(groups, host.pool()));
        if (host.pool().hugepages() != HugepagePolicy.OFF) {
            lines.add(hugetlbGroup(groups, host.pool()));
        }
        host.used().forEach(device -> lines.add(rdmaGroup(host.tree(), groups, device.name())));
        return lines;
    }

    private static Line memoryGroup(ControlGroup groups, PoolNeed pool) {
        Line.Check check = check("host.cgroup", "cgroup memory");
        return groups.least("memory", "memory.max", "memory.limit_in_bytes")
                .map(limit -> {
                    String detail = limit.against(pool.bytes());
                    if (limit.value() >= pool.bytes()) {
                        return check.ok(detail);
                    }
                    // Hugetlb pages are not charged here.
                    return pool.hugepages() == HugepagePolicy.REQUIRE
                            ? check.ok(detail + ", of hugepages, which do not count")
                            : check.fail(detail, limit.raiseTo(pool.bytes() * 2));
                })
                .orElseGet(() -> check.ok("no limit"));
    }

    private static Line hugetlbGroup(ControlGroup groups, PoolNeed pool) {
        String size = pool.hugepageSize() == HugepageSize.ONE_GIB ? "1GB" : "2MB";
        String file = "hugetlb." + size;
        Line.Check check = check("host.cgroup", "cgroup hugetlb " + size);
        long needed = pool.pages() * pool.hugepageSize().bytes();
        return Stream.of("", ".rsvd")
                .flatMap(
                        kind -> groups.least("hugetlb", file + kind + ".max", file + kind + ".limit_in_bytes").stream())
                .min(Comparator.comparingLong(ControlGroup.Limit::value))
                .map(limit -> limit.value() >= needed
                        ? check.ok(limit.against(needed))
                        : check.found(required(pool), limit.against(needed), limit.raiseTo(needed)))
                .orElseGet(() -> check.ok("no limit"));
    }

    /** {@code rdma.max} holds {@code mlx5_0 hca_handle=2 hca_object=2000}; {@code max} means unlimited. */
    private static Line rdmaGroup(Tree tree, ControlGroup groups, String device) {
        Line.Check check = check("host.cgroup", "cgroup rdma " + device);
        for (String folder : groups.folders("rdma")) {
            for (String line : tree.lines(folder + "/rdma.max")) {
                if (line.startsWith(device + " ") && line.matches(".*=\\d+.*")) {
                    return check.warn(
                            "limited by " + folder + "/rdma.max to " + line.substring(device.length() + 1),
                            "echo '%s hca_handle=max hca_object=max' > %s/rdma.max".formatted(device, folder));
                }
            }
        }
        return check.ok("no limit");
    }
}
