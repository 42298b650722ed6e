package io.farpage.agent.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** What each RDMA device is, and whether the pool is near it. */
final class DeviceCheck implements Check {
    private static final String ID = "rdma.device";

    private final Tree tree;
    private final List<RdmaDevice> devices;
    private final Set<String> wanted;
    private final PoolNeed pool;

    /** @param wanted names of the devices that the configuration allows; empty for all */
    DeviceCheck(Tree tree, List<RdmaDevice> devices, Set<String> wanted, PoolNeed pool) {
        this.tree = tree;
        this.devices = devices;
        this.wanted = wanted;
        this.pool = pool;
    }

    @Override
    public List<Line> run() {
        if (devices.isEmpty()) {
            return List.of(Line.ok(ID, "devices", "this host has no RDMA device"));
        }
        List<Line> lines = new ArrayList<>();
        for (RdmaDevice device : devices) {
            String subject = "device " + device.name();
            if (!wanted.isEmpty() && !wanted.contains(device.name())) {
                lines.add(Line.ok(ID, subject, "not used: rdma.device names " + String.join(", ", wanted)));
                continue;
            }
            lines.add(Line.ok(ID, subject, describe(device)));
            numaNode(device).ifPresent(lines::add);
        }
        return lines;
    }

    private static String describe(RdmaDevice device) {
        return "driver " + device.driver() + ", type " + device.nodeType()
                + (device.firmware().isEmpty() ? ", no firmware" : ", firmware " + device.firmware())
                + device.board().map(board -> ", board " + board).orElse("")
                + device.numaNode().map(node -> ", NUMA node " + node).orElse(", no NUMA node");
    }

    /** Only where memory can be at the wrong node at all. */
    private Optional<Line> numaNode(RdmaDevice device) {
        long nodes = tree.names("/sys/devices/system/node").stream()
                .filter(name -> name.matches("node\\d+"))
                .count();
        if (nodes < 2 || device.numaNode().isEmpty()) {
            return Optional.empty();
        }
        long near = device.numaNode().get();
        if (pool.numaNode().isPresent() && pool.numaNode().get() == near) {
            return Optional.empty();
        }
        return Optional.of(Line.warn(
                "rdma.numa",
                "NUMA " + device.name(),
                "the device is at node " + near + ", the pool "
                        + pool.numaNode().map(node -> "at node " + node).orElse("at any"),
                "export FARPAGE_POOL_NUMA_NODE=" + near));
    }
}
