package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.ReleaseAck;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Random creations, deletions, acknowledgements and restarts against a model that is nothing but one bit for each 4 KiB. */
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
            with.spaces.all().forEach(space -> with.spaces.delete(space.name(), false));
            for (int i = 0; i < NODES; i++) {
                acknowledge(i, with.spaces.releases("n" + i));
            }
            for (Node node : with.membership.nodes()) {
                assertEquals(POOL, with.spaces.freeBytes(node));
            }
            assertTrue(with.ledger.state().extents().isEmpty());
            assertTrue(with.ledger.state().releases().isEmpty());
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("seed " + seed, e);
        }
    }

    private void step(Random random) {
        switch (random.nextInt(20)) {
            case 0, 1, 2, 3, 4, 5, 6, 7 -> create(random);
            case 8, 9, 10, 11, 12 -> {
                List<Space> all = with.spaces.all();
                if (!all.isEmpty()) {
                    with.spaces.delete(all.get(random.nextInt(all.size())).name(), false);
                }
            }
            case 13, 14, 15, 16, 17 -> {
                int node = random.nextInt(NODES);
                List<Release> some = with.spaces.releases("n" + node).stream()
                        .filter(release -> random.nextBoolean())
                        .toList();
                acknowledge(node, some);
            }
            case 18 -> start(random.nextInt(NODES));
            default -> with.restart();
        }
    }

    private void start(int node) {
        incarnations[node] = nextIncarnation++;
        with.membership.register("n" + node, Fixture.node(incarnations[node], POOL));
        taken.put("n" + node, new BitSet());
    }

    private void create(Random random) {
        int pageSize = random.nextInt(3) == 0 ? HUGE : PAGE;
        long pages = pageSize == HUGE ? 1 + random.nextInt(4) : 1 + random.nextInt(1500);
        Optional<List<String>> homes =
                random.nextInt(3) == 0 ? Optional.of(List.of("n" + random.nextInt(NODES))) : Optional.empty();
        String name = "s" + nextName++;
        long room = roomFor(pageSize, homes);
        SpaceRequest request = new SpaceRequest(name, pages * pageSize, OptionalInt.of(pageSize), homes);
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
            if (homes.isEmpty() || homes.get().contains(entry.getKey())) {
                for (int at = 0; at + unit <= POOL / PAGE; at += unit) {
                    int busy = entry.getValue().nextSetBit(at);
                    room += busy < 0 || busy >= at + unit ? 1 : 0;
                }
            }
        }
        return room;
    }

    private void acknowledge(int node, List<Release> releases) {
        with.spaces.acknowledge(
                "n" + node,
                new ReleaseAck(
                        new Incarnation(incarnations[node]),
                        releases.stream().map(Release::id).toList()));
        releases.forEach(release -> bits("n" + node)
                .clear((int) (release.offset() / PAGE), (int) ((release.offset() + release.length()) / PAGE)));
    }

    private void check() {
        for (Node node : with.membership.nodes()) {
            long free = POOL - (long) bits(node.id()).cardinality() * PAGE;
            assertEquals(free, with.spaces.freeBytes(node), node.id());
        }
        for (Space space : with.spaces.all()) {
            for (Extent extent : with.spaces.extents(space.name()).extents()) {
                ExtentHome home = extent.primary();
                boolean current =
                        home.incarnation().value() == incarnations[home.node().charAt(1) - '0'];
                assertEquals(current ? ExtentState.OK : ExtentState.LOST, extent.state());
            }
        }
    }
}
