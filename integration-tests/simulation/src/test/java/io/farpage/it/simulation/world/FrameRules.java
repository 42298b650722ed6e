package io.farpage.it.simulation.world;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.store.Table;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.SimulatedStore.Replaced;
import io.farpage.it.simulation.verbs.ExportedFrames;
import io.farpage.rest.Json;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What must hold of the frames of all pools whenever the coordinator commits something: frames that become free, or
 * begin to be a space's, are zeros, and no other node has a key to them; no frame is of two spaces; and an extent gets
 * no home that has not joined it, unless it had none. No home can read a page of an encrypted space, and
 * no node has a key to frames of a coherent one that no home has joined.
 */
final class FrameRules {
    /** A region whose range is released while it is being registered is deregistered at once. */
    private static final long REGISTERING_NANOS = 2_000_000;
    /** A process that stood still goes on with what it was about to do. */
    private static final long SETTLING_NANOS = 1_000_000_000;

    private final Engine engine;
    private final Cluster cluster;
    /** By row. */
    private final Map<String, List<Claim>> claims = new HashMap<>();
    /** The ids of encrypted spaces. */
    private final Set<Long> encrypted = new HashSet<>();
    /** The ids of coherent spaces; of one that a home has joined, which reads by keys, no longer. */
    private final Set<Long> coherent = new HashSet<>();

    private final Set<Long> joined = new HashSet<>();
    /** The size of the pages of each space, in bytes. */
    private final Map<Long, Integer> pageBytes = new HashMap<>();
    /** The pool that each node is registered with. */
    private final Map<String, String> pools = new HashMap<>();
    /** Nodes whose leases have run out. */
    private final Set<String> failed = new HashSet<>();

    /** Frames that a space has, or had and that are not given back. */
    private record Claim(String node, String pool, long offset, long length, long space) {
        boolean overlaps(Claim other) {
            return node.equals(other.node)
                    && pool.equals(other.pool)
                    && offset < other.offset + other.length
                    && other.offset < offset + length;
        }

        @Override
        public String toString() {
            return "%d bytes at %d of the pool of %s".formatted(length, offset, node);
        }
    }

    /** All homes that extents have had, by key. What a rebuild knows may be older than what was lost. */
    private final Map<String, Set<ExtentHome>> homes = new HashMap<>();

    FrameRules(Engine engine, Cluster cluster) {
        this.engine = engine;
        this.cluster = cluster;
    }

    /** Rows that a commit has changed. */
    void check(List<Replaced> rows) {
        Map<String, Replaced> last = new LinkedHashMap<>();
        for (Replaced row : rows) {
            if (row.table() == Table.EXTENTS) {
                homesHaveJoined(row, cluster.hasLostStore());
            } else if (row.table() == Table.NODES) {
                row.after().ifPresent(this::isNode);
            } else if (row.table() == Table.SPACES) {
                row.after().ifPresent(this::isSpace);
            }
            if (row.table() == Table.EXTENTS || row.table() == Table.RELEASES) {
                last.put(row.table() + " " + row.key(), row);
            }
        }
        List<Claim> gone = new ArrayList<>();
        List<Claim> fresh = new ArrayList<>();
        Map<String, List<Claim>> after = new HashMap<>();
        last.forEach((key, row) -> {
            Optional.ofNullable(claims.remove(key)).ifPresent(gone::addAll);
            row.after().ifPresent(text -> after.put(key, claims(row, text)));
        });
        after.values().forEach(fresh::addAll);
        for (Claim one : fresh) {
            if (Stream.concat(all(), gone.stream()).noneMatch(one::overlaps)) {
                isBlank(one, "begins to be of space " + one.space());
            }
        }
        claims.putAll(after);
        for (Claim one : gone) {
            if (all().noneMatch(one::overlaps)) {
                isBlank(one, "is no longer of space " + one.space());
            }
        }
        for (Claim one : fresh) {
            all().filter(other -> other.space() != one.space() && other.overlaps(one))
                    .findFirst()
                    .ifPresent(other -> engine.fail(
                            "%s are of space %d and of space %d".formatted(one, one.space(), other.space())));
        }
        keysAreOfSpaces();
        all().filter(claim -> encrypted.contains(claim.space())).forEach(this::isSealed);
    }

    private void isSpace(String text) {
        Space space = Json.LENIENT.readValue(text, Space.class);
        pageBytes.put(space.id(), space.pageSize());
        if (space.encryption().isPresent()) {
            encrypted.add(space.id());
        }
        if (space.isCoherent() && !joined.contains(space.id())) {
            coherent.add(space.id());
        }
    }

    private void isNode(String text) {
        Node node = Json.LENIENT.readValue(text, Node.class);
        pools.put(node.id(), node.poolId().toString());
        if (node.status() == NodeStatus.FAILED) {
            failed.add(node.id());
        } else {
            failed.remove(node.id());
        }
    }

    private Stream<Claim> all() {
        return claims.values().stream().flatMap(List::stream);
    }

    private List<Claim> claims(Replaced row, String text) {
        if (row.table() == Table.RELEASES) {
            Release release = Json.LENIENT.readValue(text, Release.class);
            return List.of(new Claim(
                    row.key().substring(0, row.key().indexOf('/')),
                    release.incarnation().toString(),
                    release.offset(),
                    release.length(),
                    release.space()));
        }
        Extent extent = extent(text);
        long length = extent.count() * pageBytes.get(space(row));
        return extent.places()
                .map(home -> new Claim(home.node(), home.incarnation().toString(), home.offset(), length, space(row)))
                .toList();
    }

    private static Extent extent(String text) {
        return Json.LENIENT.readValue(text, Extent.class);
    }

    private static long space(Replaced extent) {
        return Long.parseLong(extent.key().substring(0, extent.key().indexOf('/')));
    }

    /**
     * @param isRebuilt whether agents tell what was before: a home may come back that was dropped, if the writer does
     *     not know that it was, and so goes on to write to it
     */
    private void homesHaveJoined(Replaced row, boolean isRebuilt) {
        if (row.before().isEmpty() || row.after().isEmpty()) {
            return;
        }
        Extent then = extent(row.before().get());
        Extent now = extent(row.after().get());
        if (now.joining().isPresent() && joined.add(space(row))) {
            coherent.remove(space(row));
        }
        keepsWhatLives(then, now, space(row));
        Set<ExtentHome> former = homes.computeIfAbsent(row.key(), _ -> new HashSet<>());
        former.addAll(then.homes());
        for (ExtentHome home : now.homes()) {
            if (!then.homes().isEmpty()
                    && then.targets().noneMatch(home::equals)
                    && !(isRebuilt && former.contains(home))) {
                engine.fail("node %s is a home of the extent at page %d of space %d, which it has not joined"
                        .formatted(home.node(), now.firstPage(), space(row)));
            }
        }
    }

    /** A home that joins takes the place of one that has failed, not of one that is alive. */
    private void keepsWhatLives(Extent then, Extent now, long space) {
        boolean isPromoted = then.joining().filter(now.homes()::contains).isPresent();
        boolean hasFailed = now.homes().stream().anyMatch(home -> failed.contains(home.node()));
        for (ExtentHome home : then.homes()) {
            if (isPromoted && hasFailed && !now.homes().contains(home) && !failed.contains(home.node())) {
                engine.fail(
                        ("node %s, which is alive, is dropped from the extent at page %d of space %d, and one that has"
                                        + " failed is kept")
                                .formatted(home.node(), now.firstPage(), space));
            }
        }
    }

    /** The frames of a claim; empty if its node does not run, or the pool is another one. */
    private Optional<ExportedFrames> frames(Claim claim) {
        Cluster.Host host = cluster.host(claim.node());
        return cluster.fabric()
                .framesOf(host.address())
                .filter(_ -> host.runs() && claim.pool().equals(pools.get(claim.node())));
    }

    private void isBlank(Claim claim, String why) {
        long found = frames(claim)
                .map(frames -> frames.firstByteOf(claim.offset(), claim.length()))
                .orElse(-1L);
        if (found >= 0) {
            engine.fail("%s %s, and the byte at %d is not zero".formatted(claim, why, found));
        }
    }

    private void isSealed(Claim claim) {
        long found = frames(claim)
                .map(frames -> frames.firstPlainPageOf(claim.offset(), claim.length()))
                .orElse(-1L);
        if (found >= 0) {
            engine.fail("%s are of space %d, which is encrypted, and the page at %d is not sealed"
                    .formatted(claim, claim.space(), found));
        }
    }

    private void isOfNoCoherentSpace(ExportedFrames.Key key, List<Claim> claimed) {
        claimed.stream()
                .filter(claim -> coherent.contains(claim.space()))
                .filter(claim -> key.reaches(claim.offset(), claim.length()))
                .findFirst()
                .ifPresent(
                        claim -> engine.fail("%s are of space %d, which is coherent, and thread '%s' gave a key to them"
                                .formatted(claim, claim.space(), key.by())));
    }

    /** Every key is to frames of a space. */
    private void keysAreOfSpaces() {
        long moment = engine.now() - REGISTERING_NANOS;
        for (Cluster.Host host : cluster.hosts()) {
            Optional<ExportedFrames> frames = cluster.fabric().framesOf(host.address());
            if (frames.isEmpty() || !host.process().ranSince(moment - SETTLING_NANOS)) {
                continue;
            }
            List<Claim> own = all().filter(claim ->
                            claim.node().equals(host.id()) && claim.pool().equals(pools.get(host.id())))
                    .toList();
            for (ExportedFrames.Key key : frames.get().keys(moment)) {
                isOfNoCoherentSpace(key, own);
                if (own.stream().noneMatch(claim -> key.reaches(claim.offset(), claim.length()))) {
                    engine.fail(("%d bytes at %d of the pool of %s are of no space, and thread '%s' gave a key to them"
                                    + " at %.6f s")
                            .formatted(key.length(), key.offset(), host.id(), key.by(), engine.secondsAt(key.since())));
                }
            }
        }
    }
}
