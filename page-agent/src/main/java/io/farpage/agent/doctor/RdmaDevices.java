package io.farpage.agent.doctor;

import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads the RDMA devices from {@code /sys/class/infiniband} (Documentation/ABI/stable/sysfs-class-infiniband). */
final class RdmaDevices {
    static final String CLASS = "/sys/class/infiniband";

    /** {@code rdma.gid_index} is at most 255; SoftRoCE claims 1024 entries and fills the first few. */
    private static final int MAX_GIDS = 256;

    private static final int MAX_EMPTY_RUN = 16;

    private RdmaDevices() {}

    static List<RdmaDevice> read(Tree tree) {
        return tree.names(CLASS).stream().map(name -> device(tree, name)).toList();
    }

    private static RdmaDevice device(Tree tree, String name) {
        String folder = CLASS + "/" + name;
        Optional<String> parent = tree.text(folder + "/parent").filter(netdev -> !netdev.isEmpty());
        List<RdmaPort> ports = new ArrayList<>();
        for (String number : tree.names(folder + "/ports")) {
            if (number.matches("\\d{1,3}")) {
                ports.add(port(tree, name, Integer.parseInt(number), parent));
            }
        }
        return new RdmaDevice(
                name,
                tree.text(folder + "/fw_ver").orElse(""),
                tree.linkedName(folder + "/device/driver").orElse(softwareDriver(name, parent)),
                afterColon(tree.text(folder + "/node_type").orElse("unknown")),
                tree.text(folder + "/board_id").filter(board -> !board.isEmpty()),
                tree.number(folder + "/device/numa_node").filter(node -> node >= 0),
                tree.names("/sys/class/infiniband_verbs").stream()
                        .filter(uverbs -> tree.text("/sys/class/infiniband_verbs/" + uverbs + "/ibdev")
                                .filter(name::equals)
                                .isPresent())
                        .findFirst(),
                ports);
    }

    /** SoftRoCE names the network interface that it sits on as its parent; no hardware driver does. */
    private static String softwareDriver(String name, Optional<String> parent) {
        return name.startsWith("siw") ? "siw" : parent.isPresent() || name.startsWith("rxe") ? "rdma_rxe" : "unknown";
    }

    private static RdmaPort port(Tree tree, String device, int number, Optional<String> parent) {
        String folder = CLASS + "/" + device + "/ports/" + number;
        LinkLayer linkLayer = switch (tree.text(folder + "/link_layer").orElse("")) {
            case "InfiniBand" -> LinkLayer.INFINIBAND;
            case "Ethernet" -> LinkLayer.ETHERNET;
            default -> LinkLayer.UNSPECIFIED;
        };
        List<RdmaGid> gids = gids(tree, folder, linkLayer);
        Optional<String> netdev = gids.stream()
                .flatMap(gid -> gid.netdev().stream())
                .findFirst()
                .or(() -> parent)
                .or(() -> tree.names(CLASS + "/" + device + "/device/net").stream()
                        .findFirst())
                .filter(name -> linkLayer == LinkLayer.ETHERNET);
        return new RdmaPort(
                device,
                number,
                afterColon(tree.text(folder + "/state").orElse("unknown")),
                afterColon(tree.text(folder + "/phys_state").orElse("unknown")),
                linkLayer,
                tree.text(folder + "/rate").orElse("unknown rate"),
                netdev,
                netdev.flatMap(name -> tree.number("/sys/class/net/" + name + "/mtu")),
                gids);
    }

    private static List<RdmaGid> gids(Tree tree, String port, LinkLayer linkLayer) {
        List<RdmaGid> gids = new ArrayList<>();
        int emptyRun = 0;
        for (int index = 0; index < MAX_GIDS && emptyRun < MAX_EMPTY_RUN; index++) {
            Optional<Gid> gid = gid(tree, port + "/gids/" + index);
            if (gid.isEmpty()) {
                emptyRun++;
                continue;
            }
            emptyRun = 0;
            String type = tree.text(port + "/gid_attrs/types/" + index).orElse("");
            gids.add(new RdmaGid(
                    index,
                    gid.get(),
                    linkLayer == LinkLayer.INFINIBAND
                            ? RdmaGid.Type.INFINIBAND
                            : type.equals("RoCE v2") ? RdmaGid.Type.ROCE_V2 : RdmaGid.Type.ROCE_V1,
                    tree.text(port + "/gid_attrs/ndevs/" + index).filter(name -> !name.isEmpty())));
        }
        return List.copyOf(gids);
    }

    private static Optional<Gid> gid(Tree tree, String file) {
        try {
            return tree.text(file).map(Gid::parse).filter(gid -> !gid.isZero());
        } catch (IllegalArgumentException e) {
            // Not a GID: no entry that could be used.
            return Optional.empty();
        }
    }

    /** {@code 4: ACTIVE} without its number. */
    private static String afterColon(String text) {
        return text.substring(text.indexOf(':') + 1).strip();
    }
}
