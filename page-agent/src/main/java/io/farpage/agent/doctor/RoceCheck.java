package io.farpage.agent.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What RoCE needs of Ethernet: large frames, a priority that is not dropped, and congestion marks. */
final class RoceCheck implements Check {
    /** DSCP 26, the customary one for RoCE, and ECT(0), which lets switches mark instead of drop. */
    private static final int CUSTOMARY_TRAFFIC_CLASS = 26 << 2 | 2;

    private static final Pattern PAUSED = Pattern.compile("([0-7]):on");

    private final Tree tree;
    private final List<RdmaDevice> devices;
    private final int mtu;
    private final int trafficClass;
    private final Commands commands;

    /**
     * @param mtu {@code rdma.mtu}
     * @param trafficClass {@code rdma.traffic_class}
     */
    RoceCheck(Tree tree, List<RdmaDevice> devices, int mtu, int trafficClass, Commands commands) {
        this.tree = tree;
        this.devices = devices;
        this.mtu = mtu;
        this.trafficClass = trafficClass;
        this.commands = commands;
    }

    @Override
    public List<Line> run() {
        List<Line> lines = new ArrayList<>();
        for (RdmaDevice device : devices) {
            for (RdmaPort port : device.ports()) {
                if (port.isEthernet() && port.netdev().isPresent()) {
                    String netdev = port.netdev().get();
                    frames(port, netdev).ifPresent(lines::add);
                    if (!device.isSoftware()) {
                        lines.add(flowControl(port, netdev));
                        lines.add(ecn(port, netdev));
                    }
                }
            }
        }
        return lines;
    }

    private Optional<Line> frames(RdmaPort port, String netdev) {
        return port.roceMtu().map(path -> {
            String detail = "%s has MTU %d, which leaves room for an RDMA MTU of %d"
                    .formatted(netdev, port.netdevMtu().orElse(0L), path);
            return path >= mtu
                    ? Line.ok("roce.mtu", "frames " + port.name(), detail)
                    : Line.warn(
                            "roce.mtu",
                            "frames " + port.name(),
                            detail + " and not of rdma.mtu " + mtu + "; switches and peers need the same",
                            "ip link set dev " + netdev + " mtu 9000");
        });
    }

    private Line flowControl(RdmaPort port, String netdev) {
        String id = "roce.pfc";
        String subject = "flow control " + port.name();
        Optional<String> answer = commands.output(List.of("dcb", "pfc", "show", "dev", netdev));
        if (answer.isEmpty()) {
            return Line.warn(
                    id,
                    subject,
                    netdev + " does not tell whether a priority is lossless (PFC)",
                    "apt-get install -y iproute2 && dcb pfc show dev " + netdev);
        }
        Matcher matcher = PAUSED.matcher(prioritiesOf(answer.get()));
        String lossless = matcher.results().map(found -> found.group(1)).collect(Collectors.joining(", "));
        return lossless.isEmpty()
                ? Line.warn(
                        id,
                        subject,
                        "no priority is lossless: a dropped packet costs a time-out; the switch must have the same",
                        "dcb pfc set dev " + netdev + " prio-pfc all:off 3:on")
                : Line.ok(id, subject, "PFC on priority " + lossless);
    }

    private static String prioritiesOf(String answer) {
        return answer.lines().filter(line -> line.contains("prio-pfc")).collect(Collectors.joining("\n"));
    }

    /** NVIDIA's own drivers show here whether a port answers marks; others do so unasked or not at all. */
    private Line ecn(RdmaPort port, String netdev) {
        String id = "roce.ecn";
        String subject = "ecn " + port.name();
        String folder = "/sys/class/net/" + netdev + "/ecn/roce_np/enable";
        long on = tree.names(folder).stream()
                .filter(priority ->
                        tree.text(folder + "/" + priority).filter("1"::equals).isPresent())
                .count();
        if (tree.exists(folder) && on == 0) {
            return Line.warn(
                    id,
                    subject,
                    netdev + " answers no congestion marks",
                    "echo 1 | tee " + folder + "/3 /sys/class/net/" + netdev + "/ecn/roce_rp/enable/3");
        }
        // The two lowest bits of a traffic class are the ECN field; 0 says that the sender does not take part.
        return (trafficClass & 3) == 0
                ? Line.warn(
                        id,
                        subject,
                        "rdma.traffic_class " + trafficClass + " tells switches to drop instead of to mark",
                        "export FARPAGE_RDMA_TRAFFIC_CLASS=" + CUSTOMARY_TRAFFIC_CLASS)
                : Line.ok(id, subject, "rdma.traffic_class " + trafficClass + " lets switches mark congestion");
    }
}
