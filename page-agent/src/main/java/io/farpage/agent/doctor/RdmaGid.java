package io.farpage.agent.doctor;

import io.farpage.verbs.Gid;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * An entry in use of a port's GID table.
 *
 * @param index in the table
 * @param type how packets with it are built
 * @param netdev network interface that it comes from; empty on InfiniBand
 */
record RdmaGid(int index, Gid gid, Type type, Optional<String> netdev) {
    /** As {@code gid_attrs/types} names them; InfiniBand and RoCE v1 have one name there. */
    enum Type {
        INFINIBAND("IB"),
        ROCE_V1("RoCE v1"),
        ROCE_V2("RoCE v2");

        private final String word;

        Type(String word) {
            this.word = word;
        }

        String word() {
            return word;
        }
    }

    /** The one that {@code rdma.gid_index: auto} stands for: RoCE v2 before v1, IPv4 before global IPv6 before link-local. */
    static Optional<RdmaGid> best(List<RdmaGid> gids) {
        return gids.stream().min(Comparator.comparingInt(RdmaGid::rank).thenComparingInt(RdmaGid::index));
    }

    private int rank() {
        if (type == Type.INFINIBAND) {
            return 0;
        }
        int address = gid.isIpv4Mapped() ? 0 : gid.isLinkLocal() ? 2 : 1;
        return (type == Type.ROCE_V2 ? 0 : 3) + address;
    }

    @Override
    public String toString() {
        return index + " " + gid + " " + type.word;
    }
}
