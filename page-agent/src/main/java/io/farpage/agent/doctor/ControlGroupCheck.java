package io.farpage.agent.doctor;

import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.hugepages.HugepageSize;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Whether control groups leave room for the pool and for RDMA objects. */
final class ControlGroupCheck implements Check {
    private static final String ID = "host.cgroup";

    private final Tree tree;
    private final PoolNeed pool;
    private final List<RdmaDevice> devices;
    private final ControlGroup groups;

    ControlGroupCheck(Tree tree, PoolNeed pool, List<RdmaDevice> devices) {
        this.tree = tree;
        this.pool = pool;
        this.devices = devices;
        this.groups = new ControlGroup(tree);
    }

    @Override
    public List<Line> run() {
        List<Line> lines = new ArrayList<>();
        lines.add(memory());
        if (pool.hugepages() != HugepagePolicy.OFF) {
            lines.add(hugetlb());
        }
        for (RdmaDevice device : devices) {
            lines.add(rdma(device.name()));
        }
        return lines;
    }

    private Line memory() {
        String subject = "cgroup memory";
        Optional<ControlGroup.Limit> limit = groups.least("memory", "memory.max", "memory.limit_in_bytes");
        if (limit.isEmpty()) {
            return Line.ok(ID, subject, "no limit");
        }
        String detail = "limit %s (%s), the pool needs %s"
                .formatted(Sizes.of(limit.get().value()), limit.get().file(), Sizes.of(pool.bytes()));
        if (limit.get().value() >= pool.bytes()) {
            return Line.ok(ID, subject, detail);
        }
        // Hugetlb pages are not charged here.
        return pool.hugepages() == HugepagePolicy.REQUIRE
                ? Line.ok(ID, subject, detail + ", of hugepages, which do not count")
                : Line.fail(ID, subject, detail, raise(limit.get(), pool.bytes() * 2));
    }

    private Line hugetlb() {
        String size = pool.hugepageSize() == HugepageSize.ONE_GIB ? "1GB" : "2MB";
        String subject = "cgroup hugetlb " + size;
        Optional<ControlGroup.Limit> limit = groups.least(
                        "hugetlb", "hugetlb." + size + ".max", "hugetlb." + size + ".limit_in_bytes")
                .or(() -> groups.least(
                        "hugetlb", "hugetlb." + size + ".rsvd.max", "hugetlb." + size + ".rsvd.limit_in_bytes"));
        if (limit.isEmpty()) {
            return Line.ok(ID, subject, "no limit");
        }
        long needed = pool.pages() * pool.hugepageSize().bytes();
        String detail = "limit %s (%s), the pool needs %s"
                .formatted(Sizes.of(limit.get().value()), limit.get().file(), Sizes.of(needed));
        return limit.get().value() >= needed
                ? Line.ok(ID, subject, detail)
                : new Line(
                        ID,
                        subject,
                        pool.hugepages() == HugepagePolicy.REQUIRE ? Level.FAIL : Level.WARN,
                        detail,
                        raise(limit.get(), needed));
    }

    /** {@code rdma.max} holds {@code mlx5_0 hca_handle=2 hca_object=2000}; {@code max} is no limit. */
    private Line rdma(String device) {
        String subject = "cgroup rdma " + device;
        for (String folder : groups.folders("rdma")) {
            for (String line : tree.lines(folder + "/rdma.max")) {
                if (line.startsWith(device + " ") && line.matches(".*=\\d+.*")) {
                    return Line.warn(
                            ID,
                            subject,
                            "limited by " + folder + "/rdma.max to " + line.substring(device.length() + 1),
                            "echo '%s hca_handle=max hca_object=max' > %s/rdma.max".formatted(device, folder));
                }
            }
        }
        return Line.ok(ID, subject, "no limit");
    }

    private static String raise(ControlGroup.Limit limit, long bytes) {
        return "echo %d > %s".formatted(bytes, limit.file());
    }
}
