package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.Line.check;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.doctor.RdmaDevice.Port;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What RoCE needs of Ethernet: large frames, a priority that is not dropped, and congestion marks. */
final class RoceChecks {
    /** DSCP 26, the customary one for RoCE, and ECT(0), which lets switches mark instead of drop. */
    private static final int CUSTOMARY_TRAFFIC_CLASS = 26 << 2 | 2;

    private static final Pattern PAUSED = Pattern.compile("([0-7]):on");

    private RoceChecks() {}

    static List<Line> lines(Host host, Commands commands) {
        List<Line> lines = new ArrayList<>();
        for (RdmaDevice device : host.used()) {
            for (Port port : device.ports()) {
                if (port.isEthernet() && port.netdev().isPresent()) {
                    String netdev = port.netdev().get();
                    frames(port, netdev, host.config().get(AgentKeys.RDMA_MTU)).ifPresent(lines::add);
                    if (!device.isSoftware()) {
                        lines.add(flowControl(port, netdev, commands));
                        lines.add(congestion(
                                port, netdev, host.tree(), host.config().get(AgentKeys.RDMA_TRAFFIC_CLASS)));
                    }
                }
            }
        }
        return lines;
    }

    private static Optional<Line> frames(Port port, String netdev, int mtu) {
        Line.Check check = check("roce.mtu", "frames " + port.name());
        return port.roceMtu().map(path -> {
            String detail = "%s has MTU %d, which leaves room for an RDMA MTU of %d"
                    .formatted(netdev, port.netdevMtu().orElse(0L), path);
            return path >= mtu
                    ? check.ok(detail)
                    : check.warn(
                            detail + " and not of rdma.mtu " + mtu + "; switches and peers need the same",
                            "ip link set dev " + netdev + " mtu 9000");
        });
    }

    private static Line flowControl(Port port, String netdev, Commands commands) {
        Line.Check check = check("roce.pfc", "flow control " + port.name());
        Optional<String> answer = commands.output(List.of("dcb", "pfc", "show", "dev", netdev));
        if (answer.isEmpty()) {
            return check.warn(
                    netdev + " does not tell whether a priority is lossless (PFC)",
                    "apt-get install -y iproute2 && dcb pfc show dev " + netdev);
        }
        String priorities =
                answer.get().lines().filter(line -> line.contains("prio-pfc")).collect(Collectors.joining("\n"));
        String lossless = PAUSED.matcher(priorities)
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.joining(", "));
        return lossless.isEmpty()
                ? check.warn(
                        "no priority is lossless: a dropped packet costs a time-out; the switch must have the same",
                        "dcb pfc set dev " + netdev + " prio-pfc all:off 3:on")
                : check.ok("PFC on priority " + lossless);
    }

    /** NVIDIA's own drivers show here whether a port answers marks; others do so unasked or not at all. */
    private static Line congestion(Port port, String netdev, Tree tree, int trafficClass) {
        Line.Check check = check("roce.ecn", "ecn " + port.name());
        String ecn = "/sys/class/net/" + netdev + "/ecn";
        String answers = ecn + "/roce_np/enable";
        boolean on = tree.names(answers).stream()
                .anyMatch(priority ->
                        tree.text(answers + "/" + priority).orElse("").equals("1"));
        if (tree.exists(answers) && !on) {
            return check.warn(
                    netdev + " answers no congestion marks",
                    "echo 1 | tee " + answers + "/3 " + ecn + "/roce_rp/enable/3");
        }
        // The two lowest bits of a traffic class are the ECN field; 0 says that the sender does not take part.
        return (trafficClass & 3) == 0
                ? check.warn(
                        "rdma.traffic_class " + trafficClass + " tells switches to drop instead of to mark",
                        "export FARPAGE_RDMA_TRAFFIC_CLASS=" + CUSTOMARY_TRAFFIC_CLASS)
                : check.ok("rdma.traffic_class " + trafficClass + " lets switches mark congestion");
    }
}
