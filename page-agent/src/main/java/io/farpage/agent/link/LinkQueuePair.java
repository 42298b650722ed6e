package io.farpage.agent.link;

import io.farpage.agent.shard.Rail;
import io.farpage.agent.transport.OpenDevice;
import io.farpage.agent.transport.Transport;
import io.farpage.coordinator.model.Gid;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QueuePair;

/** A queue pair made for a link: of one shard, on one device. */
record LinkQueuePair(OpenDevice device, int shard, Rail rail, QueuePair queuePair) {

    /** How the peer is told of it. */
    QpEntry toEntry() {
        QpEndpoint endpoint = queuePair.endpoint();
        Gid gid = new Gid(endpoint.gid().high(), endpoint.gid().low());
        int mtu = queuePair.options().mtu().bytes();
        if (device.transport() == Transport.TCP) {
            // The soft provider's GID is the address it listens on and its LID the port; spelled out for people.
            String host = endpoint.gid().toInetAddress().getHostAddress();
            return QpEntry.tcp(
                    shard,
                    device.rail(),
                    endpoint.qpn(),
                    endpoint.lid(),
                    gid,
                    endpoint.psn(),
                    mtu,
                    host,
                    endpoint.lid());
        }
        return QpEntry.rdma(shard, device.rail(), endpoint.qpn(), endpoint.lid(), gid, endpoint.psn(), mtu);
    }

    static QpEndpoint toEndpoint(QpEntry entry) {
        Gid gid = entry.gid().orElse(Gid.ZERO);
        return new QpEndpoint(entry.qpn(), entry.lid(), new io.farpage.verbs.Gid(gid.high(), gid.low()), entry.psn());
    }
}
