package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.Gid;
import io.farpage.coordinator.model.HeaderPage;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.TransportKind;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** Which device of a peer a queue pair is on. */
final class PeerViewTest {
    private static final Incarnation INCARNATION = new Incarnation(7);

    private static DeviceInfo rdma(String name, OptionalInt rail) {
        return new DeviceInfo(name, TransportKind.RDMA, 1, "Ethernet", OptionalInt.empty(), rail);
    }

    private static DeviceInfo tcp(OptionalInt rail) {
        return new DeviceInfo("soft0", TransportKind.TCP, 1, "Ethernet", OptionalInt.empty(), rail);
    }

    private static PeerView peer(DeviceInfo... devices) {
        List<DeviceInfo> all = List.of(devices);
        Node node = new Node(
                "b",
                INCARNATION,
                "host",
                "127.0.0.1:7401",
                2,
                1L << 33,
                all,
                new PoolInfo(1 << 20, 4096, Optional.empty()),
                all.stream().map(DeviceInfo::transport).distinct().toList(),
                Optional.empty(),
                NodeStatus.ACTIVE,
                Optional.empty(),
                Instant.EPOCH,
                Optional.empty());
        return new PeerView(node);
    }

    private static Optional<String> device(PeerView peer, TransportKind transport, int rail) {
        HeaderPage header = new HeaderPage(new RemoteAddress(4096), 7);
        QpEntry entry = transport == TransportKind.TCP
                ? QpEntry.tcp(0, rail, 17, Gid.ZERO, 5, 4096, "127.0.0.1", 9000, header)
                : QpEntry.rdma(0, rail, 17, 1, Gid.ZERO, 5, 4096, header);
        return peer.memory(entry, PeerGrants.NOTHING).map(PeerMemory::device);
    }

    @Test
    void shouldFindTheDeviceOfARailWhenALowerOneIsGone() {
        PeerView peer =
                peer(rdma("mlx5_1", OptionalInt.of(1)), rdma("mlx5_2", OptionalInt.of(2)), tcp(OptionalInt.of(0)));
        assertEquals(Optional.empty(), device(peer, TransportKind.RDMA, 0));
        assertEquals(Optional.of("mlx5_1"), device(peer, TransportKind.RDMA, 1));
        assertEquals(Optional.of("mlx5_2"), device(peer, TransportKind.RDMA, 2));
        assertEquals(Optional.of("soft0"), device(peer, TransportKind.TCP, 0));
    }

    @Test
    void shouldCountTheDevicesOfAPeerThatAnnouncesNoRails() {
        PeerView peer = peer(
                rdma("mlx5_0", OptionalInt.empty()), rdma("mlx5_1", OptionalInt.empty()), tcp(OptionalInt.empty()));
        assertEquals(Optional.of("mlx5_0"), device(peer, TransportKind.RDMA, 0));
        assertEquals(Optional.of("mlx5_1"), device(peer, TransportKind.RDMA, 1));
        assertEquals(Optional.empty(), device(peer, TransportKind.RDMA, 2));
        assertEquals(Optional.of("soft0"), device(peer, TransportKind.TCP, 0));
    }
}
