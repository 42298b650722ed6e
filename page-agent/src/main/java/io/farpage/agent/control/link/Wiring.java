package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.link.RailPairs.Pair;
import io.farpage.agent.control.link.RailPairs.Port;
import io.farpage.coordinator.model.Fabric;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.VerbsException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * Chooses, for each queue pair of a link, this node's device and the peer's queue pair that it is connected to. RDMA
 * comes before TCP:
 *
 * <ul>
 *   <li>a peer that has connected its queue pairs says to which rail of this node each is connected;
 *   <li>otherwise both nodes choose {@link RailPairs} of what they offer, and spread the shards over them;
 *   <li>a peer of an earlier release does not say what its devices may reach. It uses the first rail that both have.
 * </ul>
 */
final class Wiring {
    private final String peer;
    private final LinkContext context;

    /** A queue pair's device, and the queue pair of the peer. */
    record Wire(OpenDevice device, QpEntry theirs) {}

    Wiring(String peer, LinkContext context) {
        this.peer = peer;
        this.context = context;
    }

    /** How many queue pairs a link with the peer takes: one for each shard of the node that has more of them. */
    int needed(List<QpEntry> theirs) {
        int offered =
                1 + allowed(theirs).stream().mapToInt(QpEntry::shard).max().orElse(-1);
        if (offered > LinkOptions.MAX_SHARDS) {
            throw new VerbsException("peer %s offers %d queue pairs on a device; a node has %d shards at most"
                    .formatted(peer, offered, LinkOptions.MAX_SHARDS));
        }
        return Math.max(context.shards().size(), offered);
    }

    /** The peer's queue pairs that this node may connect to. */
    private List<QpEntry> allowed(List<QpEntry> theirs) {
        return theirs.stream().filter(context.options().allowed()::allows).toList();
    }

    /** Whether the peer is of an earlier release, which does not say what its RDMA devices may reach. */
    static boolean areWithoutFabrics(List<QpEntry> theirs) {
        return theirs.stream()
                .anyMatch(entry -> entry.transport() == TransportKind.RDMA
                        && entry.fabric().isEmpty());
    }

    /**
     * The wires of all queue pairs, by the number of the shard.
     *
     * @param devices that may be used, best first
     * @param fabrics of those of RDMA
     * @throws VerbsException if there is no transport in common, or the peer offers too few queue pairs
     */
    List<Wire> choose(List<OpenDevice> devices, Map<OpenDevice, Fabric> fabrics, List<QpEntry> theirs) {
        List<QpEntry> allowed = allowed(theirs);
        int count = needed(theirs);
        List<OpenDevice> rdma = devices.stream().filter(fabrics::containsKey).toList();
        List<QpEntry> overRdma = allowed.stream()
                .filter(entry -> entry.transport() == TransportKind.RDMA)
                .toList();
        if (!rdma.isEmpty() && !overRdma.isEmpty()) {
            if (overRdma.stream().anyMatch(entry -> peerRail(entry).isPresent())) {
                return wires(count, shard -> connected(rdma, overRdma, shard));
            }
            List<Pair> pairs = areWithoutFabrics(overRdma)
                    ? firstInCommon(rdma, fabrics, overRdma)
                    : RailPairs.of(
                            mine(rdma, fabrics),
                            theirs(overRdma),
                            context.node().compareTo(peer) < 0);
            if (!pairs.isEmpty()) {
                return wires(count, shard -> wire(rdma, overRdma, pairs.get(shard % pairs.size()), shard));
            }
        }
        List<OpenDevice> tcp = devices.stream()
                .filter(device -> device.transport() == TransportKind.TCP)
                .toList();
        List<QpEntry> overTcp = allowed.stream()
                .filter(entry -> entry.transport() == TransportKind.TCP)
                .toList();
        if (tcp.isEmpty() || overTcp.isEmpty()) {
            throw nothingInCommon(devices, theirs, !rdma.isEmpty() && !overRdma.isEmpty());
        }
        Pair fallback = new Pair(tcp.getFirst().rail(), overTcp.getFirst().rail());
        return wires(count, shard -> wire(tcp, overTcp, fallback, shard));
    }

    private static List<Wire> wires(int count, IntFunction<Wire> ofShard) {
        return IntStream.range(0, count).mapToObj(ofShard).toList();
    }

    private static Optional<Integer> peerRail(QpEntry entry) {
        return entry.fabric().stream()
                .flatMapToInt(fabric -> fabric.peerRail().stream())
                .boxed()
                .findFirst();
    }

    /** The peer's queue pair of a shard is connected already, to a device of this node that it names. */
    private Wire connected(List<OpenDevice> mine, List<QpEntry> theirs, int shard) {
        QpEntry entry = theirs.stream()
                .filter(e -> e.shard() == shard)
                .findFirst()
                .orElseThrow(() -> missing(shard, "any rail"));
        return new Wire(
                device(mine, peerRail(entry).orElse(entry.rail()))
                        .orElseThrow(() -> new VerbsException(
                                "peer %s has connected its queue pair %d to rail %s of this node, which offers %s"
                                        .formatted(peer, shard, peerRail(entry).orElse(entry.rail()), mine))),
                entry);
    }

    private Wire wire(List<OpenDevice> mine, List<QpEntry> theirs, Pair pair, int shard) {
        return new Wire(
                device(mine, pair.mine()).orElseThrow(),
                theirs.stream()
                        .filter(entry -> entry.rail() == pair.theirs() && entry.shard() == shard)
                        .findFirst()
                        .orElseThrow(() -> missing(shard, "rail " + pair.theirs())));
    }

    private VerbsException missing(int shard, String on) {
        return new VerbsException("peer %s offers no queue pair %d on %s; one for each shard of both is needed"
                .formatted(peer, shard, on));
    }

    private static Optional<OpenDevice> device(List<OpenDevice> devices, int rail) {
        return devices.stream().filter(device -> device.rail() == rail).findFirst();
    }

    private static List<Pair> firstInCommon(
            List<OpenDevice> mine, Map<OpenDevice, Fabric> fabrics, List<QpEntry> theirs) {
        return mine.stream()
                .filter(device -> theirs.stream().anyMatch(entry -> entry.rail() == device.rail()))
                .filter(device -> !mayNotReachSameRail(fabrics, device))
                .map(device -> new Pair(device.rail(), device.rail()))
                .limit(1)
                .toList();
    }

    /** Whether a device is not connected to the peer's of the same rail, as a peer of an earlier release would do. */
    static boolean mayNotReachSameRail(Map<OpenDevice, Fabric> fabrics, OpenDevice device) {
        return Optional.ofNullable(fabrics.get(device))
                .filter(fabric -> fabric.avoids().contains(device.rail()))
                .isPresent();
    }

    private static List<Port> mine(List<OpenDevice> devices, Map<OpenDevice, Fabric> fabrics) {
        List<Port> ports = new ArrayList<>();
        for (OpenDevice device : devices) {
            Optional.ofNullable(fabrics.get(device)).ifPresent(fabric -> ports.add(new Port(device.rail(), fabric)));
        }
        return ports;
    }

    private static List<Port> theirs(List<QpEntry> entries) {
        return entries.stream()
                .filter(entry -> entry.shard() == 0)
                .flatMap(entry -> entry.fabric().map(fabric -> new Port(entry.rail(), fabric)).stream())
                .toList();
    }

    private VerbsException nothingInCommon(List<OpenDevice> devices, List<QpEntry> theirs, boolean bothHaveRdma) {
        Optional<String> refusal = context.options().allowed().refuse(peer, theirs);
        return new VerbsException(refusal.orElseGet(() -> bothHaveRdma
                ? "no device of %s may reach one of %s: link layers or subnets differ, or all pairs have failed lately"
                        .formatted(devices, peer)
                : "no transport in common with " + peer + ": it offers "
                        + theirs.stream()
                                .map(e -> e.transport().toString())
                                .distinct()
                                .toList() + ", this node "
                        + devices));
    }
}
