package io.farpage.agent.doctor;

import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.hugepages.HugepageSize;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Whether there are free hugepages for the pool, of the size it is configured for and, for comparison, of the other one. */
final class HugepagesCheck implements Check {
    private static final String ID = "memory.hugepages";

    private final Tree tree;
    private final PoolNeed pool;

    HugepagesCheck(Tree tree, PoolNeed pool) {
        this.tree = tree;
        this.pool = pool;
    }

    @Override
    public List<Line> run() {
        List<Line> lines = new ArrayList<>();
        for (HugepageSize size : HugepageSize.values()) {
            lines.add(line(size));
        }
        return lines;
    }

    private Line line(HugepageSize size) {
        String subject = "hugepages " + size;
        String folder = folder(size);
        Optional<Long> total = tree.number(folder + "/nr_hugepages");
        boolean wanted = size == pool.hugepageSize() && pool.hugepages() != HugepagePolicy.OFF;
        if (total.isEmpty()) {
            return wanted
                    ? new Line(ID, subject, missing(), "not offered by this kernel" + where(), otherSize(size))
                    : Line.ok(ID, subject, "not offered by this kernel; not configured");
        }
        // Those of one node have no count of promised ones of their own.
        long available = Math.max(
                0,
                tree.number(folder + "/free_hugepages").orElse(0L)
                        - tree.number(folder + "/resv_hugepages").orElse(0L));
        String counts = available + " of " + total.get() + " free" + where();
        if (!wanted) {
            return Line.ok(ID, subject, counts + "; not configured");
        }
        String detail = counts + ", the pool needs " + pool.pages();
        if (available >= pool.pages()) {
            return Line.ok(ID, subject, detail);
        }
        return new Line(
                ID,
                subject,
                missing(),
                detail + (pool.hugepages() == HugepagePolicy.REQUIRE ? "" : "; it will be made of smaller pages"),
                "echo %d > %s/nr_hugepages".formatted(total.get() + pool.pages() - available, folder));
    }

    private Level missing() {
        return pool.hugepages() == HugepagePolicy.REQUIRE ? Level.FAIL : Level.WARN;
    }

    private static String otherSize(HugepageSize size) {
        return "export FARPAGE_POOL_HUGEPAGE_SIZE=" + (size == HugepageSize.ONE_GIB ? "2MiB" : "1GiB");
    }

    private String where() {
        return pool.numaNode().map(node -> " at NUMA node " + node).orElse("");
    }

    private String folder(HugepageSize size) {
        return pool.numaNode()
                        .map(node -> "/sys/devices/system/node/node" + node + "/hugepages/")
                        .orElse("/sys/kernel/mm/hugepages/")
                + size.folder();
    }
}
