package io.farpage.agent.doctor;

import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * An RDMA device in {@code /sys/class/infiniband} (Documentation/ABI/stable/sysfs-class-infiniband), read as it is
 * asked for.
 */
record RdmaDevice(Tree tree, String name) {
    static final String CLASS = "/sys/class/infiniband";
    private static final String VERBS = "/sys/class/infiniband_verbs";

    static List<RdmaDevice> all(Tree tree) {
        return tree.names(CLASS).stream()
                .map(name -> new RdmaDevice(tree, name))
                .toList();
    }

    private String folder() {
        return CLASS + "/" + name;
    }

    /** Where its bus device is. */
    String bus() {
        return folder() + "/device";
    }

    /** The driver of the bus device, such as {@code mlx5_core}; software devices have none. */
    String driver() {
        String software = name.startsWith("siw")
                ? "siw"
                : parent().isPresent() || name.startsWith("rxe") ? "rdma_rxe" : "unknown";
        return tree.linkedName(bus() + "/driver").orElse(software);
    }

    boolean isSoftware() {
        return driver().equals("rdma_rxe") || driver().equals("siw");
    }

    /** SoftRoCE names the network interface that it sits on as its parent; no hardware driver does. */
    private Optional<String> parent() {
        return tree.word(folder() + "/parent");
    }

    Optional<Long> numaNode() {
        return tree.number(bus() + "/numa_node").filter(node -> node >= 0);
    }

    /** The character device below {@code /dev/infiniband} that programs reach it by. */
    Optional<String> node() {
        return tree.names(VERBS).stream()
                .filter(uverbs -> tree.word(VERBS + "/" + uverbs + "/ibdev").equals(Optional.of(name)))
                .findFirst();
    }

    List<Port> ports() {
        return tree.names(folder() + "/ports").stream()
                .filter(number -> number.matches("\\d{1,3}"))
                .map(number -> new Port(this, Integer.parseInt(number)))
                .toList();
    }

    String describe() {
        return "driver " + driver() + ", type " + tree.afterColon(folder() + "/node_type")
                + tree.word(folder() + "/fw_ver")
                        .map(version -> ", firmware " + version)
                        .orElse(", no firmware")
                + tree.word(folder() + "/board_id")
                        .map(board -> ", board " + board)
                        .orElse("")
                + numaNode().map(node -> ", NUMA node " + node).orElse(", no NUMA node");
    }

    /**
     * A port.
     *
     * @param number from 1
     */
    record Port(RdmaDevice device, int number) {
        /**
         * Headers that RoCE v2 may need within the MTU of the network: the kernel takes these off before it picks a
         * path MTU.
         */
        private static final int ROCE_HEADERS = 96;

        /** {@code rdma.gid_index} is at most 255; SoftRoCE claims 1024 entries and fills the first few. */
        private static final int MAX_GIDS = 256;

        private static final int MAX_EMPTY_RUN = 16;

        private Tree tree() {
            return device.tree;
        }

        private String folder() {
            return device.folder() + "/ports/" + number;
        }

        String name() {
            return device.name + "/" + number;
        }

        boolean isActive() {
            return tree().afterColon(folder() + "/state").equals("ACTIVE");
        }

        /** Such as {@code LinkUp}. */
        String physicalState() {
            return tree().afterColon(folder() + "/phys_state");
        }

        private LinkLayer linkLayer() {
            return switch (tree().text(folder() + "/link_layer").orElse("")) {
                case "InfiniBand" -> LinkLayer.INFINIBAND;
                case "Ethernet" -> LinkLayer.ETHERNET;
                default -> LinkLayer.UNSPECIFIED;
            };
        }

        boolean isEthernet() {
            return linkLayer() == LinkLayer.ETHERNET;
        }

        /** The network interface of a RoCE port. */
        Optional<String> netdev() {
            return gids().stream()
                    .flatMap(gid -> gid.netdev().stream())
                    .findFirst()
                    .or(device::parent)
                    .or(() -> tree().names(device.bus() + "/net").stream().findFirst())
                    .filter(netdev -> isEthernet());
        }

        Optional<Long> netdevMtu() {
            return netdev().flatMap(netdev -> tree().number("/sys/class/net/" + netdev + "/mtu"));
        }

        /** The path MTU in bytes that the interface's MTU leaves room for. */
        Optional<Integer> roceMtu() {
            return netdevMtu().map(mtu -> {
                int path = 256;
                while (path < 4096 && path * 2 + ROCE_HEADERS <= mtu) {
                    path *= 2;
                }
                return path;
            });
        }

        String describe() {
            String layer = switch (linkLayer()) {
                case INFINIBAND -> "InfiniBand";
                case ETHERNET ->
                    "Ethernet" + netdev().map(name -> " (" + name + ")").orElse("");
                default -> "unknown link layer";
            };
            return String.join(
                    ", ",
                    tree().afterColon(folder() + "/state"),
                    physicalState(),
                    layer,
                    tree().text(folder() + "/rate").orElse("unknown rate"));
        }

        /** The entries in use of the GID table. */
        List<PortGid> gids() {
            List<PortGid> gids = new ArrayList<>();
            int emptyRun = 0;
            for (int index = 0; index < MAX_GIDS && emptyRun < MAX_EMPTY_RUN; index++) {
                Optional<Gid> gid = gid(index);
                emptyRun = gid.isEmpty() ? emptyRun + 1 : 0;
                if (gid.isPresent()) {
                    gids.add(new PortGid(index, gid.get(), gidType(index), attribute("ndevs", index)));
                }
            }
            return gids;
        }

        private Optional<Gid> gid(int index) {
            try {
                return tree().text(folder() + "/gids/" + index).map(Gid::parse).filter(gid -> !gid.isZero());
            } catch (IllegalArgumentException e) {
                // Not a GID: no entry that could be used.
                return Optional.empty();
            }
        }

        /** The kernel has one name for InfiniBand and RoCE v1. */
        private String gidType(int index) {
            return linkLayer() == LinkLayer.INFINIBAND
                    ? "IB"
                    : attribute("types", index).filter(PortGid.ROCE_V2::equals).orElse(PortGid.ROCE_V1);
        }

        private Optional<String> attribute(String name, int index) {
            return tree().word(folder() + "/gid_attrs/" + name + "/" + index);
        }
    }

    /**
     * An entry in use of a port's GID table.
     *
     * @param type how packets with it are built
     * @param netdev network interface that it comes from; empty on InfiniBand
     */
    record PortGid(int index, Gid gid, String type, Optional<String> netdev) {
        static final String ROCE_V1 = "RoCE v1";
        static final String ROCE_V2 = "RoCE v2";

        /**
         * The one that {@code rdma.gid_index: auto} stands for: RoCE v2 before v1, IPv4 before global IPv6 before
         * link-local.
         */
        static Optional<PortGid> best(List<PortGid> gids) {
            return gids.stream().min(Comparator.comparingInt(PortGid::rank).thenComparingInt(PortGid::index));
        }

        private int rank() {
            int address = gid.isIpv4Mapped() ? 0 : gid.isLinkLocal() ? 2 : 1;
            return switch (type) {
                case ROCE_V2 -> address;
                case ROCE_V1 -> 3 + address;
                default -> 0;
            };
        }

        @Override
        public String toString() {
            return index + " " + gid + " " + type;
        }
    }
}
