package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.link.RailPairs.Pair;
import io.farpage.agent.data.shard.HelloReceive;
import io.farpage.agent.data.shard.MessageMemory;
import io.farpage.agent.data.shard.Rail;
import io.farpage.coordinator.model.Fabric;
import io.farpage.coordinator.model.Gid;
import io.farpage.coordinator.model.HeaderPage;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.verbs.Mtu;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QueuePair;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A queue pair of a link, for one shard on one device.
 *
 * @param peer the peer's queue pair that it is connected to
 * @param hello the receive that is posted for the peer's first message; empty if the shard exchanges none
 */
record LinkQueuePair(
        OpenDevice device,
        int shard,
        Rail rail,
        QueuePair queuePair,
        Optional<QpEntry> peer,
        Optional<HelloReceive> hello) {
    /**
     * READs that a peer answers at once if its offer does not say: the default of
     * {@code rdma.max_rd_atomic}.
     */
    private static final int UNSTATED_MAX_RD_ATOMIC = 16;

    /**
     * Its endpoint as published to the peer.
     *
     * @param fabric what its device may reach
     */
    QpEntry toEntry(Optional<Fabric> fabric) {
        PathLimits limits = PathLimits.of(queuePair.options());
        return toEntry(limits.mtu().bytes())
                .withMaxRdAtomic(limits.maxRdAtomic())
                .withMessages(hello.isPresent() ? OptionalInt.of(MessageMemory.VERSION) : OptionalInt.empty())
                .withFabric(fabric.map(one ->
                        peer.map(theirs -> one.connectedTo(theirs.rail())).orElse(one)));
    }

    /** The two devices; empty if it is not connected. */
    Optional<Pair> pair() {
        return peer.map(theirs -> new Pair(device.rail(), theirs.rail()));
    }

    private QpEntry toEntry(int mtu) {
        QpEndpoint endpoint = queuePair.endpoint();
        HeaderPage header = new HeaderPage(
                new RemoteAddress(device.header().address()),
                Integer.toUnsignedLong(device.header().rkey()));
        Gid gid = new Gid(endpoint.gid().high(), endpoint.gid().low());
        if (device.transport() == TransportKind.TCP) {
            // The soft provider's GID is the address it listens on, and its LID the port; written as such.
            String host = endpoint.gid().toInetAddress().getHostAddress();
            return QpEntry.tcp(
                    shard, device.rail(), endpoint.qpn(), gid, endpoint.psn(), mtu, host, endpoint.lid(), header);
        }
        return QpEntry.rdma(shard, device.rail(), endpoint.qpn(), endpoint.lid(), gid, endpoint.psn(), mtu, header);
    }

    /** Moves the queue pair to RTR, connected to the peer's, within the limits of both. Returns it connected. */
    LinkQueuePair connect(QpEntry theirs) {
        queuePair.modifyToRtr(
                toEndpoint(theirs),
                new PathLimits(Mtu.ofBytes(theirs.mtu()), theirs.maxRdAtomic().orElse(UNSTATED_MAX_RD_ATOMIC)));
        return new LinkQueuePair(device, shard, rail, queuePair, Optional.of(theirs), hello);
    }

    /** The same, with a receive that is posted. */
    LinkQueuePair withHello(Optional<HelloReceive> posted) {
        return new LinkQueuePair(device, shard, rail, queuePair, peer, posted);
    }

    /** The receive for the peer's first message; empty if one of both exchanges none, or another version. */
    Optional<HelloReceive> agreedHello() {
        return hello.filter(
                _ -> peer.map(QpEntry::messages).equals(Optional.of(OptionalInt.of(MessageMemory.VERSION))));
    }

    private static QpEndpoint toEndpoint(QpEntry entry) {
        Gid gid = entry.gid().orElse(Gid.ZERO);
        return new QpEndpoint(entry.qpn(), entry.lid(), new io.farpage.verbs.Gid(gid.high(), gid.low()), entry.psn());
    }
}
