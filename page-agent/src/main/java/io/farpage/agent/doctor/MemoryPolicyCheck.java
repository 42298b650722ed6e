package io.farpage.agent.doctor;

import io.farpage.pool.HugepagePolicy;
import java.util.List;

/** What the kernel may do with memory behind the agent's back: migrate it, split it, swap it. */
final class MemoryPolicyCheck implements Check {
    private static final String NODES = "/sys/devices/system/node";
    private static final String THP = "/sys/kernel/mm/transparent_hugepage/enabled";

    private final Tree tree;
    private final PoolNeed pool;

    MemoryPolicyCheck(Tree tree, PoolNeed pool) {
        this.tree = tree;
        this.pool = pool;
    }

    @Override
    public List<Line> run() {
        return List.of(numaNode(), numaBalancing(), transparentHugepages(), swap());
    }

    private Line numaNode() {
        String id = "memory.numa";
        long nodes = numaNodes();
        if (pool.numaNode().isEmpty()
                || tree.exists(NODES + "/node" + pool.numaNode().get())) {
            return Line.ok(
                    id,
                    "numa nodes",
                    nodes
                            + pool.numaNode()
                                    .map(node -> ", the pool goes to " + node)
                                    .orElse(""));
        }
        return Line.fail(
                id,
                "numa nodes",
                "pool.numa_node is " + pool.numaNode().get() + " and this host has no such node",
                "lscpu | grep -i numa");
    }

    private Line numaBalancing() {
        String id = "memory.numa_balancing";
        boolean on = tree.number("/proc/sys/kernel/numa_balancing").orElse(0L) != 0;
        return on && numaNodes() > 1
                ? Line.warn(
                        id,
                        "numa balancing",
                        "on: pages are unmapped to see who uses them, which faults",
                        "sysctl -w kernel.numa_balancing=0")
                : Line.ok(id, "numa balancing", on ? "on, with one node" : "off");
    }

    private long numaNodes() {
        return tree.names(NODES).stream()
                .filter(name -> name.matches("node\\d+"))
                .count();
    }

    private Line transparentHugepages() {
        String id = "memory.thp";
        String setting = tree.text(THP).orElse("not offered by this kernel");
        return setting.contains("[never]") && pool.hugepages() == HugepagePolicy.PREFER
                ? Line.warn(
                        id,
                        "transparent hugepages",
                        setting + ": without hugetlb pages the pool is made of 4 KiB ones",
                        "echo madvise > " + THP)
                : Line.ok(id, "transparent hugepages", setting);
    }

    private Line swap() {
        String id = "memory.swap";
        List<String> areas = tree.lines("/proc/swaps").stream()
                .skip(1)
                .map(line -> line.split("\\s+", 2)[0])
                .toList();
        return areas.isEmpty()
                ? Line.ok(id, "swap", "none")
                : Line.warn(
                        id,
                        "swap",
                        "on (" + String.join(", ", areas) + "): what is not locked can wait for a disk",
                        "swapoff -a");
    }
}
