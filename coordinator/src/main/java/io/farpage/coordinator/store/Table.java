package io.farpage.coordinator.store;

import java.util.Locale;

/** The tables; the name in the store is that of the constant in lower case. */
public enum Table {
    /** The event index, the next id, the cluster id and the epoch, under fixed keys. */
    COUNTERS,
    /** The revision at which each earlier epoch ended, by epoch. */
    EPOCHS,
    /** At most one row: the cluster that was formed. */
    CLUSTER,
    /** Nodes by id. */
    NODES,
    /** Incarnations that were superseded, by node id. */
    RETIRED,
    /** Spaces by id. */
    SPACES,
    /** Extents by {@code space/first page}. */
    EXTENTS,
    /** Releases by {@code node/id}. */
    RELEASES,
    /** Attachments by {@code space/node}. */
    ATTACHMENTS,
    /** Fences by {@code home/node/incarnation/space}. */
    FENCES,
    /** Nodes that are marked for draining, by id. */
    DRAINS;

    String mapName() {
        return name().toLowerCase(Locale.ROOT);
    }
}
