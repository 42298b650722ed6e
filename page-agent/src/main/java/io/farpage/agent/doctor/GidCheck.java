package io.farpage.agent.doctor;

import io.farpage.verbs.PortAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The GIDs of each active port, and the one that is sent from. */
final class GidCheck implements Check {
    private static final String ID = "rdma.gid";
    private static final int SHOWN = 8;

    private final List<RdmaDevice> devices;
    private final Verbs verbs;
    private final Optional<Integer> configured;

    /** @param configured {@code rdma.gid_index}; empty for {@code auto} */
    GidCheck(List<RdmaDevice> devices, Verbs verbs, Optional<Integer> configured) {
        this.devices = devices;
        this.verbs = verbs;
        this.configured = configured;
    }

    @Override
    public List<Line> run() {
        List<Line> lines = new ArrayList<>();
        for (RdmaDevice device : devices) {
            device.ports().stream().filter(RdmaPort::isActive).forEach(port -> lines.add(line(port)));
        }
        return lines;
    }

    private Line line(RdmaPort port) {
        String subject = "gids " + port.name();
        List<RdmaGid> gids = port.gids();
        if (gids.isEmpty()) {
            return Line.warn(ID, subject, "no entry is in use, so the port has no address", addAddress(port));
        }
        String table = gids.stream().limit(SHOWN).map(RdmaGid::toString).collect(Collectors.joining("; "))
                + (gids.size() > SHOWN ? "; and " + (gids.size() - SHOWN) + " more" : "");
        Optional<RdmaGid> chosen = chosen(port);
        if (chosen.isEmpty()) {
            return Line.warn(
                    ID,
                    subject,
                    "rdma.gid_index is " + configured.orElse(-1) + ", which is not in use; there are " + table,
                    "export FARPAGE_RDMA_GID_INDEX=auto");
        }
        String detail = (configured.isPresent() ? "configured is " : "auto takes ")
                + chosen.get().index() + " of " + table;
        if (chosen.get().type() == RdmaGid.Type.ROCE_V1) {
            return Line.warn(ID, subject, detail + "; RoCE v1 is not routed", addAddress(port));
        }
        if (port.isEthernet() && chosen.get().gid().isLinkLocal()) {
            return Line.warn(ID, subject, detail + "; link-local addresses are not routed", addAddress(port));
        }
        return Line.ok(ID, subject, detail);
    }

    /** What the provider took where it could open the device, else the same rule applied to the files. */
    private Optional<RdmaGid> chosen(RdmaPort port) {
        PortAttributes open = verbs.ports().get(port.device());
        if (open != null && open.number() == port.number()) {
            return port.gids().stream()
                    .filter(gid -> gid.index() == open.gidIndex())
                    .findFirst();
        }
        return configured.isEmpty()
                ? RdmaGid.best(port.gids())
                : port.gids().stream()
                        .filter(gid -> gid.index() == configured.get())
                        .findFirst();
    }

    /** An example address: which one is right only the operator knows. */
    static String addAddress(RdmaPort port) {
        return port.isEthernet()
                ? "ip address add 192.0.2.1/24 dev " + port.netdev().orElse("eth0") + "  # with an address of yours"
                : "systemctl restart opensm  # on the host that runs the subnet manager";
    }
}
