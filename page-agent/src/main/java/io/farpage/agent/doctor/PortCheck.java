package io.farpage.agent.doctor;

import io.farpage.verbs.PortAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** State, link layer, rate and MTU of each port. */
final class PortCheck implements Check {
    private static final String ID = "rdma.port";

    private final List<RdmaDevice> devices;
    private final Verbs verbs;

    PortCheck(List<RdmaDevice> devices, Verbs verbs) {
        this.devices = devices;
        this.verbs = verbs;
    }

    @Override
    public List<Line> run() {
        List<Line> lines = new ArrayList<>();
        for (RdmaDevice device : devices) {
            if (device.ports().isEmpty()) {
                lines.add(Line.warn(
                        ID, "device " + device.name(), "it has no port, so nothing can be sent", "rdma link show"));
            }
            for (RdmaPort port : device.ports()) {
                lines.add(line(port));
            }
        }
        return lines;
    }

    private Line line(RdmaPort port) {
        String detail = port.state() + ", " + port.physicalState() + ", "
                + switch (port.linkLayer()) {
                    case INFINIBAND -> "InfiniBand";
                    case ETHERNET ->
                        "Ethernet"
                                + port.netdev().map(name -> " (" + name + ")").orElse("");
                    default -> "unknown link layer";
                }
                + ", " + port.rate() + ", " + mtu(port);
        return port.isActive()
                ? Line.ok(ID, "port " + port.name(), detail)
                : Line.warn(ID, "port " + port.name(), detail, bringUp(port));
    }

    private String mtu(RdmaPort port) {
        Optional<PortAttributes> open = Optional.ofNullable(verbs.ports().get(port.device()))
                .filter(chosen -> chosen.number() == port.number());
        return open.map(chosen -> "active MTU " + chosen.activeMtu().bytes())
                .or(() -> port.roceMtu().map(mtu -> "MTU up to " + mtu))
                .orElse("MTU not known");
    }

    /** The command that makes the port ACTIVE, if all it lacks is configuration. */
    static String bringUp(RdmaPort port) {
        if (port.isEthernet()) {
            return port.netdev().map(name -> "ip link set dev " + name + " up").orElse("rdma link show " + port.name());
        }
        // LinkUp without ACTIVE: the cable is connected, but no subnet manager has assigned a LID.
        return port.physicalState().equals("LinkUp")
                ? "apt-get install -y opensm && systemctl enable --now opensm"
                : "ibstat " + port.device() + " " + port.number();
    }
}
