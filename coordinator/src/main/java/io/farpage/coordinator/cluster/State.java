package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.pcollections.PSortedMap;
import org.pcollections.TreePMap;

/**
 * All that is kept, at one moment. Never changes.
 *
 * @param index of the last event
 * @param reserved no event before the last start of the coordinator has a greater index than this, which is in the
 *     store
 * @param nextId for the next space or release
 * @param cluster at most one row
 * @param nodes by id
 * @param retired superseded incarnations by node id
 * @param soft what nodes publish for their peers, which the store does not keep
 * @param spaces by id, written as {@link Keys#id}
 * @param extents by id of their space, written as {@link Keys#id}
 * @param releases by {@code node/id}
 * @param attachments by {@code space/node}, the space written as {@link Keys#id}
 * @param fences by {@code home/node/incarnation/space}, the space written as {@link Keys#id}
 * @param drains by node id
 * @param derived what is worked out from other tables
 */
public record State(
        long index,
        long reserved,
        long nextId,
        PSortedMap<String, Cluster> cluster,
        PSortedMap<String, Node> nodes,
        PSortedMap<String, Retired> retired,
        Published soft,
        PSortedMap<String, Space> spaces,
        PSortedMap<String, Extents> extents,
        PSortedMap<String, Release> releases,
        PSortedMap<String, Attachment> attachments,
        PSortedMap<String, Fence> fences,
        PSortedMap<String, Draining> drains,
        Derived derived) {

    /**
     * Rows by what stands in them.
     *
     * @param hosted extents by the nodes that have pages or frames of them
     * @param attached attachments by node
     * @param cutOff fences by {@code node/incarnation/space}, the space written as {@link Keys#id}
     * @param groups extents by the groups of homes that have pages of them
     * @param used ranges of pools that extents have
     * @param released ranges of pools that nodes have yet to zero
     */
    record Derived(
            Index<Extents> hosted,
            Index<Attachment> attached,
            Index<Fence> cutOff,
            Index<Extents> groups,
            PoolRanges used,
            PoolRanges released) {

        /** @throws IllegalStateException if two rows have the same bytes of a pool */
        static Derived of(
                PSortedMap<String, Extents> extents,
                PSortedMap<String, Attachment> attachments,
                PSortedMap<String, Fence> fences,
                PSortedMap<String, Release> releases) {
            PoolRanges used = PoolRanges.NONE;
            for (Extents row : extents.values()) {
                used = used.with(List.of(), row.ranges());
            }
            PoolRanges released = PoolRanges.NONE;
            for (Map.Entry<String, Release> row : releases.entrySet()) {
                released = released.with(List.of(), List.of(PoolRanges.Range.of(row.getKey(), row.getValue())));
            }
            return new Derived(
                    Index.of(extents, Extents::homes),
                    Index.of(attachments, row -> Set.of(row.node())),
                    Index.of(fences, row -> Set.of(Keys.cutOff(row.node(), row.incarnation(), row.space()))),
                    Index.of(extents, Extents::groups),
                    used,
                    released);
        }
    }

    /**
     * What nodes publish for their peers. It ends with the process, and they publish it again to the next one.
     *
     * @param endpoints by {@code node/peer}
     * @param offers the same endpoints by {@code peer/node}
     * @param entries queue pairs in all endpoints
     */
    public record Published(PSortedMap<String, Endpoint> endpoints, PSortedMap<String, Endpoint> offers, int entries) {

        /** Nothing yet. */
        static final Published NOTHING = new Published(TreePMap.empty(), TreePMap.empty(), 0);
    }

    /** The endpoints by {@code node/peer}. */
    public PSortedMap<String, Endpoint> endpoints() {
        return soft.endpoints();
    }

    /**
     * Incarnations of a node that were superseded, the newest last.
     *
     * @param incarnations the last few
     */
    public record Retired(List<Incarnation> incarnations) {
        /** Copies the list. */
        public Retired {
            incarnations = List.copyOf(incarnations);
        }
    }

    /**
     * The extents of one space, in the order of their pages.
     *
     * @param pageSize of the space, in bytes
     * @param list without gaps
     */
    public record Extents(int pageSize, List<Extent> list) {
        /** Copies the list. */
        public Extents {
            list = List.copyOf(list);
        }

        /** The nodes that have extents, or frames of a dropped copy; lost ones included. */
        Set<String> homes() {
            return list.stream()
                    .flatMap(Extent::places)
                    .map(ExtentHome::node)
                    .collect(Collectors.toCollection(TreeSet::new));
        }

        /** The ranges of pools that the extents have. */
        List<PoolRanges.Range> ranges() {
            return list.stream()
                    .flatMap(extent ->
                            extent.places().map(place -> PoolRanges.Range.of(place, extent.count() * pageSize)))
                    .toList();
        }

        /** The groups of homes that have pages, as words: how many nodes, and their ids in order. */
        Set<String> groups() {
            return list.stream()
                    .filter(extent -> extent.isAllocated() && extent.state() == ExtentState.OK)
                    .map(extent -> extent.homes().stream()
                            .map(ExtentHome::node)
                            .sorted()
                            .collect(Collectors.joining("/", extent.homes().size() + "/", "")))
                    .collect(Collectors.toSet());
        }

        /** The first page of their space that no extent has, or more than one; empty if there is none. */
        public OptionalLong gap(Space space) {
            long next = 0;
            for (Extent extent : list) {
                if (extent.firstPage() != next) {
                    return OptionalLong.of(Math.min(next, extent.firstPage()));
                }
                next += extent.count();
            }
            long pages = space.storedPages();
            return next == pages ? OptionalLong.empty() : OptionalLong.of(Math.min(next, pages));
        }
    }

    /**
     * A node that is marked for draining.
     *
     * @param told whether {@code node-drained} was emitted since the node became empty
     */
    public record Draining(boolean told) {}

    /** A space by id or name. */
    public Optional<Space> space(String idOrName) {
        return space(spaces, idOrName);
    }

    /** Ids are given away in ascending order, so a space whose id was given away and that is not known was deleted. */
    static ProblemException missing(long nextId, String idOrName) {
        OptionalLong id = Space.idOf(idOrName);
        return id.isPresent() && id.getAsLong() > 0 && id.getAsLong() < nextId
                ? new ProblemException(404, Space.DELETED, "space %s was deleted".formatted(idOrName))
                : ProblemException.notFound("there is no space '%s'".formatted(idOrName));
    }

    static Optional<Space> space(SortedMap<String, Space> spaces, String idOrName) {
        OptionalLong id = Space.idOf(idOrName);
        if (id.isPresent()) {
            return Optional.ofNullable(spaces.get(Keys.id(id.getAsLong())));
        }
        return spaces.values().stream()
                .filter(space -> space.name().equals(idOrName))
                .findFirst();
    }

    /** Bytes of a node's pool that extents and releases have. */
    public long usedBytes(Node node) {
        PoolRanges.Pool pool = PoolRanges.Pool.of(node);
        return derived.used().of(pool).bytes() + derived.released().of(pool).bytes();
    }

    /** Bytes of a node's pool that nothing has. */
    public long freeBytes(Node node) {
        return node.pool().exportedBytes() - usedBytes(node);
    }

    /** The nodes that have extents of a space, or frames of a dropped copy; lost ones included. */
    Set<String> homesOf(Space space) {
        return Optional.ofNullable(extents.get(Keys.id(space.id())))
                .map(Extents::homes)
                .orElse(Set.of());
    }

    /** The extents of a space. */
    public List<Extent> extentsOf(Space space) {
        return Optional.ofNullable(extents.get(Keys.id(space.id())))
                .map(Extents::list)
                .orElse(List.of());
    }
}
