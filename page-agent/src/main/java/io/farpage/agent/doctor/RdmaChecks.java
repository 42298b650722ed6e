package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.Line.check;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.doctor.RdmaDevice.Port;
import io.farpage.agent.doctor.RdmaDevice.PortGid;
import io.farpage.verbs.PortAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The RDMA devices: what they are, their ports and addresses, their modules, and who may use them. */
final class RdmaChecks {
    private static final int SHOWN_GIDS = 8;

    /** Drivers of network cards and the module that makes RDMA devices of them. */
    private static final Map<String, String> MODULES = Map.of(
            "mlx5_core", "mlx5_ib",
            "mlx4_core", "mlx4_ib",
            "ice", "irdma",
            "idpf", "irdma",
            "bnxt_en", "bnxt_re",
            "qede", "qedr",
            "cxgb4", "iw_cxgb4",
            "hns3", "hns_roce_hw_v2",
            "efa", "efa");

    private RdmaChecks() {}

    /** What each device is, and whether the pool is near it. */
    static List<Line> devices(Host host) {
        if (host.devices().isEmpty()) {
            return List.of(check("rdma.device", "devices").ok("this host has no RDMA device"));
        }
        List<Line> lines = new ArrayList<>();
        for (RdmaDevice device : host.devices()) {
            Line.Check check = check("rdma.device", "device " + device.name());
            if (host.used().contains(device)) {
                lines.add(check.ok(device.describe()));
                numaNode(host, device).ifPresent(lines::add);
            } else {
                lines.add(check.ok("not used: rdma.device names "
                        + host.config().get(AgentKeys.RDMA_DEVICE).stream()
                                .distinct()
                                .collect(Collectors.joining(", "))));
            }
        }
        return lines;
    }

    /** Only where memory can be at the wrong node at all. */
    private static Optional<Line> numaNode(Host host, RdmaDevice device) {
        Optional<Integer> pool = host.pool().numaNode();
        return device.numaNode()
                .filter(near -> host.numaNodes() > 1
                        && pool.map(node -> node != near.intValue()).orElse(true))
                .map(near -> check("rdma.numa", "NUMA " + device.name())
                        .warn(
                                "the device is at node " + near + ", the pool "
                                        + pool.map(node -> "at node " + node).orElse("at any"),
                                "export FARPAGE_POOL_NUMA_NODE=" + near));
    }

    /** State, link layer, rate and MTU of each port. */
    static List<Line> ports(Host host) {
        List<Line> lines = new ArrayList<>();
        for (RdmaDevice device : host.used()) {
            if (device.ports().isEmpty()) {
                lines.add(check("rdma.port", "device " + device.name())
                        .warn("it has no port, so nothing can be sent", "rdma link show"));
            }
            for (Port port : device.ports()) {
                Line.Check check = check("rdma.port", "port " + port.name());
                String mtu = opened(host, port)
                        .map(open -> "active MTU " + open.activeMtu().bytes())
                        .or(() -> port.roceMtu().map(bytes -> "MTU up to " + bytes))
                        .orElse("MTU not known");
                String detail = port.describe() + ", " + mtu;
                lines.add(port.isActive() ? check.ok(detail) : check.warn(detail, bringUp(port)));
            }
        }
        return lines;
    }

    /** What the provider found of a port, if it chose that one. */
    private static Optional<PortAttributes> opened(Host host, Port port) {
        return Optional.ofNullable(host.ports().get(port.device().name()))
                .filter(open -> open.number() == port.number());
    }

    /** The command that makes the port ACTIVE, if all it lacks is configuration. */
    static String bringUp(Port port) {
        if (port.isEthernet()) {
            return port.netdev().map(name -> "ip link set dev " + name + " up").orElse("rdma link show " + port.name());
        }
        // LinkUp without ACTIVE: the cable is connected, but no subnet manager has assigned a LID.
        return port.physicalState().equals("LinkUp")
                ? "apt-get install -y opensm && systemctl enable --now opensm"
                : "ibstat " + port.device().name() + " " + port.number();
    }

    /** The GIDs of each active port, and the one that is sent from. */
    static List<Line> gids(Host host) {
        return host.used().stream()
                .flatMap(device -> device.ports().stream())
                .filter(Port::isActive)
                .map(port -> gids(host, port))
                .toList();
    }

    private static Line gids(Host host, Port port) {
        Line.Check check = check("rdma.gid", "gids " + port.name());
        List<PortGid> gids = port.gids();
        if (gids.isEmpty()) {
            return check.warn("no entry is in use, so the port has no address", addAddress(port));
        }
        String table = gids.stream().limit(SHOWN_GIDS).map(PortGid::toString).collect(Collectors.joining("; "))
                + (gids.size() > SHOWN_GIDS ? "; and " + (gids.size() - SHOWN_GIDS) + " more" : "");
        // What the provider took where it could open the device, else the same rule applied to the files.
        Optional<Integer> configured = host.config().get(AgentKeys.RDMA_GID_INDEX);
        Optional<Integer> index =
                opened(host, port).map(PortAttributes::gidIndex).or(() -> configured);
        Optional<PortGid> chosen = index.isEmpty()
                ? PortGid.best(gids)
                : gids.stream().filter(gid -> gid.index() == index.get()).findFirst();
        if (chosen.isEmpty()) {
            return check.warn(
                    "rdma.gid_index is " + configured.orElse(-1) + ", which is not in use; there are " + table,
                    "export FARPAGE_RDMA_GID_INDEX=auto");
        }
        String detail = (configured.isPresent() ? "configured is " : "auto takes ")
                + chosen.get().index() + " of " + table;
        if (chosen.get().type().equals(PortGid.ROCE_V1)) {
            return check.warn(detail + "; RoCE v1 is not routed", addAddress(port));
        }
        return port.isEthernet() && chosen.get().gid().isLinkLocal()
                ? check.warn(detail + "; link-local addresses are not routed", addAddress(port))
                : check.ok(detail);
    }

    /** An example address: which one is right only the operator knows. */
    static String addAddress(Port port) {
        return port.isEthernet()
                ? "ip address add 192.0.2.1/24 dev " + port.netdev().orElse("eth0") + "  # with an address of yours"
                : "systemctl restart opensm  # on the host that runs the subnet manager";
    }

    /** The kernel modules that verbs need: the core, access for programs, and each device's driver. */
    static List<Line> modules(Host host) {
        Tree tree = host.tree();
        List<Line> lines = new ArrayList<>();
        lines.add(module(host, "ib_core", RdmaDevice.CLASS));
        lines.add(module(host, "ib_uverbs", "/sys/class/infiniband_verbs"));
        boolean ucm = tree.hasModule("rdma_ucm") || tree.exists("/dev/infiniband/rdma_cm");
        lines.add(check("rdma.module", "module rdma_ucm")
                .ok(ucm ? "loaded" : "not loaded; only perftest with -R needs it"));
        host.used().stream()
                .map(device -> MODULES.getOrDefault(device.driver(), device.driver()))
                .distinct()
                .forEach(
                        name -> lines.add(check("rdma.module", "module " + name).ok("has devices")));
        missingModule(tree)
                .ifPresent(name -> lines.add(check("rdma.module", "module " + name)
                        .warn("not loaded, and it is the driver of a network card of this host", "modprobe " + name)));
        return lines;
    }

    private static Line module(Host host, String name, String trace) {
        Line.Check check = check("rdma.module", "module " + name);
        if (host.tree().exists(trace) || host.tree().hasModule(name)) {
            return check.ok("present");
        }
        if (!host.tree().exists("/proc/modules")) {
            return check.ok("absent; this kernel has no loadable modules");
        }
        return host.used().isEmpty()
                ? check.ok("not loaded; no RDMA device needs it")
                : check.warn("not loaded, and there are RDMA devices", "modprobe " + name);
    }

    /** A module that is not loaded although a card for it is there. */
    static Optional<String> missingModule(Tree tree) {
        String pci = "/sys/bus/pci/devices/";
        return tree.names(pci).stream()
                .filter(device -> tree.names(pci + device + "/infiniband").isEmpty())
                .flatMap(device -> tree.linkedName(pci + device + "/driver").stream())
                .flatMap(driver -> Optional.ofNullable(MODULES.get(driver)).stream())
                .filter(module -> !tree.hasModule(module))
                .findFirst();
    }

    /** Whether this user may open the character devices that verbs go through. */
    static List<Line> deviceNodes(Host host) {
        return host.used().stream()
                .map(device -> deviceNode(host.tree(), device))
                .toList();
    }

    private static Line deviceNode(Tree tree, RdmaDevice device) {
        Line.Check check = check("rdma.permission", "access " + device.name());
        if (device.node().isEmpty()) {
            return check.warn("programs have no way to it: ib_uverbs is missing", "modprobe ib_uverbs");
        }
        String node = "/dev/infiniband/" + device.node().get();
        if (!tree.exists(node)) {
            return check.warn(
                    node + " does not exist; a container must be given it: --device=/dev/infiniband",
                    "udevadm trigger --subsystem-match=infiniband_verbs && udevadm settle");
        }
        return tree.isUsable(node)
                ? check.ok(node + " can be read and written")
                : check.warn(
                        node + " cannot be read and written by this user",
                        "echo 'SUBSYSTEM==\"infiniband_verbs\", MODE=\"0666\"' >"
                                + " /etc/udev/rules.d/70-farpage-rdma.rules && udevadm control --reload && udevadm"
                                + " trigger --subsystem-match=infiniband_verbs");
    }

    /** Whether devices can be, or are, split into virtual functions for guests. */
    static List<Line> virtualFunctions(Host host) {
        return host.used().stream()
                .flatMap(device -> virtualFunctions(host.tree(), device).stream())
                .toList();
    }

    private static Optional<Line> virtualFunctions(Tree tree, RdmaDevice device) {
        Line.Check check = check("rdma.sriov", "sr-iov " + device.name());
        if (tree.exists(device.bus() + "/physfn")) {
            return Optional.of(check.ok("is a virtual function itself"));
        }
        long total = tree.number(device.bus() + "/sriov_totalvfs").orElse(0L);
        if (total == 0) {
            return device.isSoftware()
                    ? Optional.empty()
                    : Optional.of(check.ok("no virtual functions; the firmware can switch them on"));
        }
        long made = tree.number(device.bus() + "/sriov_numvfs").orElse(0L);
        String detail = made + " of " + total + " virtual functions made";
        return Optional.of(
                made > 0 && tree.names("/sys/kernel/iommu_groups").isEmpty()
                        ? check.warn(
                                detail + ", but without an IOMMU none can be given to a guest",
                                kernelOption("intel_iommu=on iommu=pt"))
                        : check.ok(detail));
    }

    /** The command that adds options to the kernel's command line. */
    static String kernelOption(String options) {
        return "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&" + options + " /' /etc/default/grub && update-grub  # then reboot";
    }
}
