package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random creations, deletions, attachments, acknowledgements and restarts against two models: one bit for each 4 KiB,
 * and which incarnations can write to which space.
 */
@Tag("portable")
class SpacesModelTest {

    private static final int PAGE = 4096;
    private static final int HUGE = 2 << 20;
    private static final int NODES = 3;
    private static final long POOL = 16L << 20;

    private final Fixture with = new Fixture();
    private final long[] incarnations = new long[NODES];
    private final Map<String, BitSet> taken = new HashMap<>();
    private long nextIncarnation = 1;
    private int nextName;
    private final WritersModel writers = new WritersModel();
    private int failed = -1;

    @Test
    void shouldNeverOverlapAndFreeEverythingInTheEnd() {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dfarpage.seed=" + seed + ")");
        Random random = new Random(seed);
        try {
            for (int i = 0; i < NODES; i++) {
                start(i);
            }
            for (int step = 0; step < 3_000; step++) {
                step(random);
                check();
            }
            detachAll();
            for (int i = 0; i < NODES; i++) {
                cutOff(i, true, random);
            }
            with.spaces.all().forEach(space -> with.spaces.delete(space.name(), false));
            for (int i = 0; i < NODES; i++) {
                acknowledge(i, with.zeroable("n" + i));
            }
            for (Node node : with.membership.nodes()) {
                assertEquals(POOL, with.freeBytes(node));
            }
            assertTrue(with.ledger.state().extents().isEmpty());
            assertTrue(with.ledger.state().releases().isEmpty());
            assertTrue(with.ledger.state().attachments().isEmpty());
            assertTrue(with.ledger.state().fences().isEmpty());
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("seed " + seed, e);
        }
    }

    private void step(Random random) {
        if (failed >= 0 && random.nextInt(3) == 0) {
            with.membership.heartbeat("n" + failed, new Incarnation(incarnations[failed]));
            failed = -1;
        }
        switch (random.nextInt(34)) {
            case 0, 1, 2, 3, 4, 5, 6, 7 -> create(random);
            case 8, 9, 10, 11, 12 -> {
                List<Space> all = with.spaces.all();
                if (!all.isEmpty()) {
                    delete(all.get(random.nextInt(all.size())), random.nextInt(4) == 0);
                }
            }
            case 13, 14, 15, 16, 17 -> {
                int node = random.nextInt(NODES);
                List<Release> some = with.zeroable("n" + node).stream()
                        .filter(release -> random.nextBoolean())
                        .toList();
                acknowledge(node, some);
            }
            case 18 -> start(random.nextInt(NODES));
            case 19, 20, 21, 22, 23, 24, 25 -> attach(random);
            case 26, 27, 28 -> detach(random);
            case 29, 30, 31 -> cutOff(random.nextInt(NODES), false, random);
            case 32 -> fail(random.nextInt(NODES));
            default -> with.restart();
        }
    }

    private void start(int node) {
        long before = incarnations[node];
        incarnations[node] = nextIncarnation++;
        with.membership.register("n" + node, Fixture.node(incarnations[node], POOL));
        writers.ended("n" + node, before);
        failed = failed == node ? -1 : failed;
        taken.put("n" + node, new BitSet());
    }

    private void delete(Space space, boolean force) {
        try {
            with.spaces.delete(space.name(), force);
        } catch (ProblemException e) {
            assertTrue(!force && e.problem("").is("attached"), e.getMessage());
            assertTrue(attachments().of(space.name()).stream()
                    .anyMatch(a -> a.mode().hasGuest()));
        }
    }

    private void attach(Random random) {
        List<Space> all = with.spaces.all();
        if (all.isEmpty()) {
            return;
        }
        Space space = all.get(random.nextInt(all.size()));
        int node = random.nextInt(NODES);
        AttachMode mode = mode(space, random);
        boolean force = random.nextInt(3) == 0;
        AttachRequest request = new AttachRequest(
                new Incarnation(incarnations[node]), mode, Optional.of(force), Optional.of(Feature.words()));
        String name = random.nextBoolean() ? space.name() : Long.toString(space.id());
        try {
            attachments().attach(name, "n" + node, request);
        } catch (ProblemException e) {
            return;
        }
        assertFalse(space.deleting());
        assertEquals(space.isCoherent(), mode == AttachMode.MEMBER, "only members attach a coherent space");
        writers.attached(
                writer(space.id(), node),
                mode,
                force,
                with.spaces.extents(space.name()).extents());
    }

    private static AttachMode mode(Space space, Random random) {
        if (random.nextInt(8) == 0) {
            return AttachMode.values()[random.nextInt(AttachMode.values().length)];
        }
        if (space.isCoherent()) {
            return AttachMode.MEMBER;
        }
        return random.nextBoolean() ? AttachMode.EXCLUSIVE : AttachMode.SHARED;
    }

    private WritersModel.Writer writer(long space, int node) {
        return new WritersModel.Writer(space, "n" + node, incarnations[node]);
    }

    private void detach(Random random) {
        List<Attachment> all = current();
        if (!all.isEmpty()) {
            Attachment one = all.get(random.nextInt(all.size()));
            boolean saved = random.nextBoolean();
            attachments()
                    .detach(
                            Long.toString(one.space()),
                            one.node(),
                            one.incarnation(),
                            saved ? Detachment.PLAIN : Detachment.torn("the home did not answer"));
            writers.detached(
                    new WritersModel.Writer(
                            one.space(), one.node(), one.incarnation().value()),
                    saved);
        }
    }

    private List<Attachment> current() {
        return with.ledger.state().attachments().values().stream()
                .filter(a -> a.incarnation().value() == incarnations[a.node().charAt(1) - '0'])
                .toList();
    }

    /** Every node detaches from all that it is, or was, attached to. */
    private void detachAll() {
        Set<WritersModel.Writer> all = new HashSet<>();
        current()
                .forEach(a -> all.add(new WritersModel.Writer(
                        a.space(), a.node(), a.incarnation().value())));
        with.ledger.state().fences().values().stream()
                .filter(fence ->
                        fence.incarnation().value() == incarnations[fence.node().charAt(1) - '0'])
                .forEach(fence -> all.add(new WritersModel.Writer(
                        fence.space(), fence.node(), fence.incarnation().value())));
        for (WritersModel.Writer one : all) {
            attachments()
                    .detach(
                            Long.toString(one.space()),
                            one.node(),
                            new Incarnation(one.incarnation()),
                            Detachment.PLAIN);
            writers.detached(one, true);
        }
    }

    /** A home does what its fences ask for: some of it, or all. */
    private void cutOff(int home, boolean all, Random random) {
        for (Fence fence : with.fences("n" + home)) {
            boolean own = fence.node().equals("n" + home) && fence.incarnation().value() == incarnations[home];
            if (!own && !fence.acknowledged() && (all || random.nextBoolean())) {
                long fenced = fence.incarnation().value();
                writers.cutOff("n" + home, incarnations[home], fence.node(), fenced);
                with.fenced("n" + home, new Incarnation(incarnations[home]), fence.node(), fence.incarnation());
            }
        }
    }

    /** The lease of a node runs out, and its next heartbeat revives it later. */
    private void fail(int node) {
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        for (int i = 0; i < NODES; i++) {
            if (i != node) {
                with.membership.heartbeat("n" + i, new Incarnation(incarnations[i]));
            }
        }
        with.time.advance(Duration.ofSeconds(2));
        with.membership.expire();
        failed = node;
    }

    private Attachments attachments() {
        return new Attachments(with.ledger, with.time);
    }

    private void create(Random random) {
        int pageSize = random.nextInt(3) == 0 ? HUGE : PAGE;
        long pages = pageSize == HUGE ? 1 + random.nextInt(4) : 1 + random.nextInt(1500);
        Optional<List<String>> homes =
                random.nextInt(3) == 0 ? Optional.of(List.of("n" + random.nextInt(NODES))) : Optional.empty();
        if (failed >= 0 && homes.equals(Optional.of(List.of("n" + failed)))) {
            return; // refused, whatever room there is
        }
        String name = "s" + nextName++;
        long room = roomFor(pageSize, homes);
        SpaceRequest plain = new SpaceRequest(name, pages * pageSize, OptionalInt.of(pageSize), homes);
        SpaceRequest request = pageSize == PAGE && random.nextInt(3) == 0 ? plain.asCoherent() : plain;
        if (room < pages) {
            ProblemException refused = assertThrows(ProblemException.class, () -> with.spaces.create(request));
            assertEquals(507, refused.problem("").status());
            return;
        }
        with.spaces.create(request);
        long next = 0;
        for (Extent extent : with.spaces.extents(name).extents()) {
            assertEquals(next, extent.firstPage());
            next += extent.count();
            ExtentHome home = extent.primary();
            assertEquals(0, home.offset() % pageSize);
            int from = (int) (home.offset() / PAGE);
            int to = from + (int) (extent.count() * pageSize / PAGE);
            assertTrue(to <= POOL / PAGE, "beyond the pool");
            BitSet bits = bits(home.node());
            int busy = bits.nextSetBit(from);
            assertTrue(busy < 0 || busy >= to, "overlap at " + busy);
            bits.set(from, to);
        }
        assertEquals(pages, next);
    }

    private BitSet bits(String node) {
        return taken.computeIfAbsent(node, id -> new BitSet());
    }

    private long roomFor(int pageSize, Optional<List<String>> homes) {
        int unit = pageSize / PAGE;
        long room = 0;
        for (Map.Entry<String, BitSet> entry : taken.entrySet()) {
            boolean active = failed < 0 || !entry.getKey().equals("n" + failed);
            if (active && (homes.isEmpty() || homes.get().contains(entry.getKey()))) {
                for (int at = 0; at + unit <= POOL / PAGE; at += unit) {
                    int busy = entry.getValue().nextSetBit(at);
                    room += busy < 0 || busy >= at + unit ? 1 : 0;
                }
            }
        }
        return room;
    }

    private void acknowledge(int node, List<Release> releases) {
        with.zeroed(
                "n" + node,
                new Incarnation(incarnations[node]),
                releases.stream().map(Release::id).toList());
        releases.forEach(release -> bits("n" + node)
                .clear((int) (release.offset() / PAGE), (int) ((release.offset() + release.length()) / PAGE)));
    }

    private void check() {
        with.checkIndexes();
        for (Node node : with.membership.nodes()) {
            long free = POOL - (long) bits(node.id()).cardinality() * PAGE;
            assertEquals(free, with.freeBytes(node), node.id());
        }
        Set<Long> there = new HashSet<>();
        for (Space space : with.spaces.all()) {
            there.add(space.id());
            writers.checkAlone(space.id());
            assertEquals(writers.isTorn(space.id()), space.torn().isPresent(), space.toString());
            for (Extent extent : with.spaces.extents(space.name()).extents()) {
                ExtentHome home = extent.primary();
                boolean current =
                        home.incarnation().value() == incarnations[home.node().charAt(1) - '0'];
                assertEquals(current ? ExtentState.OK : ExtentState.LOST, extent.state());
            }
        }
        // The room of a space that is gone may be another's soon.
        for (long id : writers.writable()) {
            assertTrue(there.contains(id), "space " + id + " is gone and can be written to");
        }
    }
}
