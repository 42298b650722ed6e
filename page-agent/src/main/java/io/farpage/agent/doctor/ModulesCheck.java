package io.farpage.agent.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The kernel modules that verbs need: the core, access for programs, and each device's driver. */
final class ModulesCheck implements Check {
    private static final String ID = "rdma.module";

    /** Drivers of network cards and the module that makes RDMA devices of them. */
    private static final Map<String, String> RDMA_MODULES = Map.of(
            "mlx5_core", "mlx5_ib",
            "mlx4_core", "mlx4_ib",
            "ice", "irdma",
            "idpf", "irdma",
            "bnxt_en", "bnxt_re",
            "qede", "qedr",
            "cxgb4", "iw_cxgb4",
            "hns3", "hns_roce_hw_v2",
            "efa", "efa");

    private final Tree tree;
    private final List<RdmaDevice> devices;

    ModulesCheck(Tree tree, List<RdmaDevice> devices) {
        this.tree = tree;
        this.devices = devices;
    }

    @Override
    public List<Line> run() {
        List<Line> lines = new ArrayList<>();
        boolean loadable = tree.exists("/proc/modules");
        boolean needed = !devices.isEmpty();
        lines.add(module("ib_core", tree.exists(RdmaDevices.CLASS), needed, loadable));
        lines.add(module("ib_uverbs", tree.exists("/sys/class/infiniband_verbs"), needed, loadable));
        lines.add(
                tree.hasModule("rdma_ucm") || tree.exists("/dev/infiniband/rdma_cm")
                        ? Line.ok(ID, "module rdma_ucm", "loaded")
                        : Line.ok(ID, "module rdma_ucm", "not loaded; only perftest with -R needs it"));
        devices.stream()
                .map(device -> RDMA_MODULES.getOrDefault(device.driver(), device.driver()))
                .distinct()
                .forEach(name -> lines.add(Line.ok(ID, "module " + name, "its devices are there")));
        missingRdmaDriver(tree)
                .ifPresent(name -> lines.add(Line.warn(
                        ID,
                        "module " + name,
                        "not loaded, and there is a network card that it would make an RDMA device of",
                        "modprobe " + name)));
        return lines;
    }

    private Line module(String name, boolean seen, boolean needed, boolean loadable) {
        String subject = "module " + name;
        if (seen || tree.hasModule(name)) {
            return Line.ok(ID, subject, "there");
        }
        if (!loadable) {
            return Line.ok(ID, subject, "not there; this kernel has no loadable modules");
        }
        return needed
                ? Line.warn(ID, subject, "not loaded, and there are RDMA devices", "modprobe " + name)
                : Line.ok(ID, subject, "not loaded; no RDMA device needs it");
    }

    /** A module that is not loaded although a card for it is there. */
    static Optional<String> missingRdmaDriver(Tree tree) {
        return tree.names("/sys/bus/pci/devices").stream()
                .filter(device -> tree.names("/sys/bus/pci/devices/" + device + "/infiniband")
                        .isEmpty())
                .flatMap(device -> tree.linkedName("/sys/bus/pci/devices/" + device + "/driver").stream())
                .filter(RDMA_MODULES::containsKey)
                .map(driver -> RDMA_MODULES.getOrDefault(driver, driver))
                .filter(module -> !tree.hasModule(module))
                .findFirst();
    }
}
