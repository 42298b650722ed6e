package io.farpage.agent.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Whether devices can be, or are, split into virtual functions for guests. */
final class SriovCheck implements Check {
    private static final String ID = "rdma.sriov";

    private final Tree tree;
    private final List<RdmaDevice> devices;

    SriovCheck(Tree tree, List<RdmaDevice> devices) {
        this.tree = tree;
        this.devices = devices;
    }

    @Override
    public List<Line> run() {
        List<Line> lines = new ArrayList<>();
        for (RdmaDevice device : devices) {
            line(device).ifPresent(lines::add);
        }
        return lines;
    }

    private Optional<Line> line(RdmaDevice device) {
        String subject = "sr-iov " + device.name();
        if (tree.exists(device.bus() + "/physfn")) {
            return Optional.of(Line.ok(ID, subject, "is a virtual function itself"));
        }
        long total = tree.number(device.bus() + "/sriov_totalvfs").orElse(0L);
        if (total == 0) {
            return device.isSoftware()
                    ? Optional.empty()
                    : Optional.of(Line.ok(ID, subject, "no virtual functions; the firmware can switch them on"));
        }
        long made = tree.number(device.bus() + "/sriov_numvfs").orElse(0L);
        String detail = made + " of " + total + " virtual functions made";
        return Optional.of(
                made > 0 && tree.names("/sys/kernel/iommu_groups").isEmpty()
                        ? Line.warn(
                                ID,
                                subject,
                                detail + ", but without an IOMMU none can be given to a guest",
                                "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&intel_iommu=on iommu=pt /' /etc/default/grub"
                                        + " && update-grub  # then reboot")
                        : Line.ok(ID, subject, detail));
    }
}
