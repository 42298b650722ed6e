package io.farpage.agent.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Whether an IOMMU translates what devices read, which costs, and whether there is one, which passing a device to a guest needs. */
final class IommuCheck implements Check {
    private static final String ID = "host.iommu";
    private static final String PASSTHROUGH =
            "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&iommu=pt /' /etc/default/grub && update-grub  # then reboot";

    private final Tree tree;
    private final List<RdmaDevice> devices;

    IommuCheck(Tree tree, List<RdmaDevice> devices) {
        this.tree = tree;
        this.devices = devices;
    }

    @Override
    public List<Line> run() {
        int groups = tree.names("/sys/kernel/iommu_groups").size();
        List<Line> lines = new ArrayList<>();
        lines.add(Line.ok(
                ID,
                "iommu",
                groups == 0
                        ? "off or none: devices reach memory directly and cannot be passed to guests"
                        : groups + " groups"));
        for (RdmaDevice device : devices) {
            Optional<String> type = tree.text(device.bus() + "/iommu_group/type");
            type.map(mode -> line(device, mode)).ifPresent(lines::add);
        }
        return lines;
    }

    private static Line line(RdmaDevice device, String mode) {
        String subject = "iommu " + device.name();
        return mode.equals("identity")
                ? Line.ok(ID, subject, "passthrough")
                : Line.warn(ID, subject, "every access is translated (" + mode + ")", PASSTHROUGH);
    }
}
