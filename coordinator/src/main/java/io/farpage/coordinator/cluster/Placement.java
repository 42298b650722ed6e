package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Node;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Chooses the homes of a new space. The homes of an extent are in different failure domains. Few distinct groups of
 * homes are used, since the loss of any whole group loses pages: a group takes as much as it can hold, and a group that
 * other spaces use already goes first. If that leaves a rest that only other groups can hold, all is placed again in
 * small pieces, each with the nodes that have most room.
 *
 * <p>What a group takes is divided into extents of about a 64th of the space, so that the {@link Rebalancer} can move
 * the warm ones and leave the others.
 */
final class Placement {

    /** Pieces of the second attempt, for each node. */
    private static final int PIECES = 16;

    /** Extents of a space on one group, if it has pages enough. */
    static final int EXTENTS = 64;

    /** Extents of a thin space, if it has pages enough. */
    static final int FEWEST_OF_THIN = 16;

    /** Pages of an extent of a large space at least, in whole blocks in which agents count faults. */
    static final long LEAST_PAGES = 1024;

    private static final long BLOCK_PAGES = 512;

    private final List<FreeSpace> rooms;
    private final int copies;
    private final int pageSize;
    private final int extentsOfGroup;

    /**
     * @param rooms of the nodes that may be homes, the preferred one first
     * @param copies homes of each extent
     * @param extentsOfGroup extents that a group of homes gets of a large space
     */
    Placement(List<FreeSpace> rooms, int copies, int pageSize, int extentsOfGroup) {
        this.extentsOfGroup = extentsOfGroup;
        this.rooms = rooms;
        this.copies = copies;
        this.pageSize = pageSize;
    }

    /** Different failure domains among the nodes that have room for a page. */
    int domains() {
        return (int) rooms.stream()
                .map(room -> room.node().failureDomain())
                .distinct()
                .count();
    }

    /** The extents of a space of {@code pages} pages; empty if there is no room. */
    Optional<List<Extent>> place(long pages, Set<Set<String>> known) {
        Optional<List<Extent>> inFewGroups = place(pages, pages, known);
        if (inFewGroups.isPresent() || copies == 1) {
            return inFewGroups;
        }
        return place(pages, Math.ceilDiv(pages, (long) PIECES * rooms.size()), Set.of());
    }

    /** @param most pages of one extent */
    private Optional<List<Extent>> place(long pages, long most, Set<Set<String>> known) {
        List<Room> left = rooms.stream().map(room -> new Room(room, pageSize)).collect(Collectors.toList());
        Set<Set<String>> groups = new HashSet<>(known);
        List<Extent> extents = new ArrayList<>();
        long piece = piece(pages);
        long next = 0;
        while (next < pages) {
            left.removeIf(Room::isFull);
            List<Room> group = group(left, groups);
            if (group.size() < copies) {
                return Optional.empty();
            }
            groups.add(group.stream().map(Room::id).collect(Collectors.toSet()));
            long count = group.stream().mapToLong(Room::contiguousPages).min().orElseThrow();
            count = Math.min(Math.min(count, most), pages - next);
            List<ExtentHome> homes = new ArrayList<>();
            for (Room room : group) {
                homes.add(room.take(count));
            }
            for (long at = 0; at < count; at += piece) {
                extents.add(
                        new Extent(next + at, Math.min(piece, count - at), at(homes, at * pageSize), ExtentState.OK));
            }
            next += count;
        }
        return Optional.of(extents);
    }

    /** Pages of an extent at most. */
    private long piece(long pages) {
        return piece(pages, LEAST_PAGES, extentsOfGroup);
    }

    private static long piece(long pages, long least, int extents) {
        long most = Math.max(least, Math.ceilDiv(pages, (long) extents));
        return Math.ceilDiv(most, BLOCK_PAGES) * BLOCK_PAGES;
    }

    /**
     * The extents of a thin space: those of the guest's pages, and one of what is behind them. None has room.
     *
     * @param pages of the guest
     * @param behind pages behind the guest's
     * @param extents of the guest's pages at most, apart from those that further bounds make
     * @param bounds pages at which an extent begins in any case
     */
    static List<Extent> unallocated(long pages, long behind, int extents, List<Long> bounds) {
        SortedSet<Long> firsts = new TreeSet<>(bounds);
        long piece = piece(pages, BLOCK_PAGES, extents);
        for (long first = 0; first < pages; first += piece) {
            firsts.add(first);
        }
        List<Long> ends = Stream.concat(firsts.headSet(pages).stream().skip(1), Stream.of(pages))
                .toList();
        List<Extent> all = new ArrayList<>();
        long first = 0;
        for (long end : ends) {
            all.add(new Extent(first, end - first, List.of(), ExtentState.OK));
            first = end;
        }
        if (behind > 0) {
            all.add(new Extent(pages, behind, List.of(), ExtentState.OK));
        }
        return all;
    }

    private static List<ExtentHome> at(List<ExtentHome> homes, long bytes) {
        return homes.stream()
                .map(home -> new ExtentHome(home.node(), home.incarnation(), home.offset() + bytes))
                .toList();
    }

    /**
     * Homes for the next extent: of one copy the first node that has room, of several those with most room, one in each
     * domain.
     */
    private List<Room> group(List<Room> left, Set<Set<String>> groups) {
        if (copies == 1) {
            return left.stream().limit(1).toList();
        }
        List<Room> byRoom = left.stream()
                .sorted(Comparator.comparingLong(Room::freePages).reversed().thenComparing(Room::id))
                .toList();
        List<Room> chosen = new ArrayList<>();
        while (chosen.size() < copies) {
            Optional<Room> next = byRoom.stream()
                    .filter(room -> chosen.stream().noneMatch(room::isInDomainOf))
                    .min(Comparator.comparing(room -> !isWithin(groups, chosen, room)));
            if (next.isEmpty()) {
                return chosen;
            }
            chosen.add(next.get());
        }
        return chosen;
    }

    private static boolean isWithin(Set<Set<String>> groups, List<Room> chosen, Room next) {
        return chosen.isEmpty()
                || groups.stream()
                        .anyMatch(group -> group.contains(next.id())
                                && chosen.stream().allMatch(room -> group.contains(room.id())));
    }

    /** What is left of a node's room. */
    private static final class Room {
        private final Node node;
        private final int pageSize;
        private final Deque<FreeSpace.Gap> gaps;

        Room(FreeSpace of, int pageSize) {
            node = of.node();
            this.pageSize = pageSize;
            gaps = new ArrayDeque<>(of.gaps(pageSize));
        }

        String id() {
            return node.id();
        }

        boolean isInDomainOf(Room other) {
            return node.failureDomain().equals(other.node.failureDomain());
        }

        boolean isFull() {
            return gaps.isEmpty();
        }

        long freePages() {
            return gaps.stream().mapToLong(FreeSpace.Gap::length).sum() / pageSize;
        }

        long contiguousPages() {
            return gaps.getFirst().length() / pageSize;
        }

        ExtentHome take(long pages) {
            FreeSpace.Gap gap = gaps.removeFirst();
            long bytes = pages * pageSize;
            if (bytes < gap.length()) {
                gaps.addFirst(new FreeSpace.Gap(gap.offset() + bytes, gap.length() - bytes));
            }
            return new ExtentHome(node.id(), node.poolId(), gap.offset());
        }
    }
}
