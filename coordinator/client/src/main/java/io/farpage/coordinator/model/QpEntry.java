package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * One queue pair of a link, as a peer must know it to connect.
 *
 * @param transport what it runs over
 * @param shard which pager it belongs to, 0..1023
 * @param rail which device of several, 0..63
 * @param qpn queue pair number, 24 bits
 * @param lid local identifier of the port, 0..65535; 0 on Ethernet
 * @param gid of the port; all zeros when left out
 * @param psn first packet sequence number that it will send, 24 bits
 * @param mtu path MTU it can take: 256, 512, 1024, 2048 or 4096
 * @param host for tcp, where its provider listens; forbidden for rdma
 * @param port for tcp, where its provider listens, 1..65535; forbidden for rdma
 * @param header the header page of the pool, over this queue pair's device
 * @param maxRdAtomic READs that it answers at once, 1..255; agents before 0.2 leave it out
 * @param fabric for rdma, what its device may reach; agents of earlier releases leave it out. Forbidden for tcp
 * @param messages version of the messages that it receives, 1..255; left out if it has posted no receive
 */
public record QpEntry(
        @JsonProperty(required = true) TransportKind transport,
        @JsonProperty(required = true) int shard,
        @JsonProperty(required = true) int rail,
        @JsonProperty(required = true) int qpn,
        @JsonProperty(required = true) int lid,
        Optional<Gid> gid,
        @JsonProperty(required = true) int psn,
        @JsonProperty(required = true) int mtu,
        Optional<String> host,
        OptionalInt port,
        @JsonProperty(required = true) HeaderPage header,
        OptionalInt maxRdAtomic,
        Optional<Fabric> fabric,
        OptionalInt messages) {

    /** Checks the fields and what the transport asks of them. */
    public QpEntry {
        Check.range("shard", shard, 0, 1023);
        Check.range("rail", rail, 0, 63);
        Check.range("qpn (24 bits)", qpn, 0, 0xff_ffff);
        Check.range("lid", lid, 0, 65535);
        Check.range("psn (24 bits)", psn, 0, 0xff_ffff);
        if (mtu < 256 || mtu > 4096 || Integer.bitCount(mtu) != 1) {
            throw new IllegalArgumentException("mtu: %d is not one of 256, 512, 1024, 2048, 4096".formatted(mtu));
        }
        maxRdAtomic.ifPresent(depth -> Check.range("maxRdAtomic", depth, 1, 255));
        messages.ifPresent(version -> Check.range("messages", version, 1, 255));
        gid = Optional.of(gid.orElse(Gid.ZERO));
        switch (transport) {
            case TCP -> {
                if (host.isEmpty() || port.isEmpty()) {
                    throw new IllegalArgumentException("host and port: a tcp entry needs both");
                }
                Check.text("host", host.get(), 255);
                Check.range("port", port.getAsInt(), 1, 65535);
                if (fabric.isPresent()) {
                    throw new IllegalArgumentException("fabric: a tcp entry has none");
                }
            }
            case RDMA -> {
                if (host.isPresent() || port.isPresent()) {
                    throw new IllegalArgumentException("host and port: an rdma entry has neither");
                }
                if (lid == 0 && gid.get().equals(Gid.ZERO)) {
                    throw new IllegalArgumentException("lid and gid: an rdma entry needs one that is not zero");
                }
            }
        }
    }

    /** An entry for a queue pair over a device. */
    public static QpEntry rdma(int shard, int rail, int qpn, int lid, Gid gid, int psn, int mtu, HeaderPage header) {
        return new QpEntry(
                TransportKind.RDMA,
                shard,
                rail,
                qpn,
                lid,
                Optional.of(gid),
                psn,
                mtu,
                Optional.empty(),
                OptionalInt.empty(),
                header,
                OptionalInt.empty(),
                Optional.empty(),
                OptionalInt.empty());
    }

    /** An entry for a queue pair of the soft provider, whose LID is the port. */
    public static QpEntry tcp(
            int shard, int rail, int qpn, Gid gid, int psn, int mtu, String host, int port, HeaderPage header) {
        return new QpEntry(
                TransportKind.TCP,
                shard,
                rail,
                qpn,
                port,
                Optional.of(gid),
                psn,
                mtu,
                Optional.of(host),
                OptionalInt.of(port),
                header,
                OptionalInt.empty(),
                Optional.empty(),
                OptionalInt.empty());
    }

    /** The same entry of a queue pair that answers {@code depth} READs and atomics at once. */
    public QpEntry withMaxRdAtomic(int depth) {
        return with(OptionalInt.of(depth), fabric, messages);
    }

    /** The same entry with what its device may reach. */
    public QpEntry withFabric(Optional<Fabric> reached) {
        return with(maxRdAtomic, reached, messages);
    }

    /** The same entry of a queue pair that receives messages of a version, or none. */
    public QpEntry withMessages(OptionalInt version) {
        return with(maxRdAtomic, fabric, version);
    }

    private QpEntry with(OptionalInt depth, Optional<Fabric> reached, OptionalInt version) {
        return new QpEntry(
                transport, shard, rail, qpn, lid, gid, psn, mtu, host, port, header, depth, reached, version);
    }

    /** What makes an entry unique within an endpoint. */
    Slot slot() {
        return new Slot(transport, shard, rail);
    }

    /** Transport, shard and rail. */
    record Slot(TransportKind transport, int shard, int rail) {}
}
