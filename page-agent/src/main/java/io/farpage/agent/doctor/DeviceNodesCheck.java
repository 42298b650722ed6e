package io.farpage.agent.doctor;

import java.util.ArrayList;
import java.util.List;

/** Whether this user may open the character devices that verbs go through. */
final class DeviceNodesCheck implements Check {
    private static final String ID = "rdma.permission";

    private final Tree tree;
    private final List<RdmaDevice> devices;

    DeviceNodesCheck(Tree tree, List<RdmaDevice> devices) {
        this.tree = tree;
        this.devices = devices;
    }

    @Override
    public List<Line> run() {
        List<Line> lines = new ArrayList<>();
        for (RdmaDevice device : devices) {
            String subject = "access " + device.name();
            if (device.node().isEmpty()) {
                lines.add(Line.warn(
                        ID, subject, "programs have no way to it: ib_uverbs is missing", "modprobe ib_uverbs"));
                continue;
            }
            String node = "/dev/infiniband/" + device.node().get();
            if (!tree.exists(node)) {
                lines.add(Line.warn(
                        ID,
                        subject,
                        node + " is not there; a container must be given it: --device=/dev/infiniband",
                        "udevadm trigger --subsystem-match=infiniband_verbs && udevadm settle"));
            } else if (tree.isUsable(node)) {
                lines.add(Line.ok(ID, subject, node + " can be read and written"));
            } else {
                lines.add(
                        Line.warn(
                                ID,
                                subject,
                                node + " cannot be read and written by this user",
                                "echo 'SUBSYSTEM==\"infiniband_verbs\", MODE=\"0666\"' > /etc/udev/rules.d/70-farpage-rdma.rules"
                                        + " && udevadm control --reload && udevadm trigger --subsystem-match=infiniband_verbs"));
            }
        }
        return lines;
    }
}
