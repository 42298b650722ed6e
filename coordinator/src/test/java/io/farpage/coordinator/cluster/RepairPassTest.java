package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What one pass of {@link Repairs} costs, and what it does to changes that are made meanwhile. */
@Tag("portable")
class RepairPassTest {

    private static final int PAGE = 4096;
    private static final int SPACES = 200;
    private static final int EXTENTS = 64;
    private static final long SPACE_BYTES = EXTENTS * Placement.LEAST_PAGES * PAGE;
    private static final Incarnation WRITER = new Incarnation(2);
    private static final Duration LONGEST_PASS = Fixture.LEASE.dividedBy(5);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);

    private void register(String node, long incarnation, String domain, long pool) {
        Registration said = Fixture.node(incarnation, pool);
        with.membership.register(
                node,
                new Registration(
                        said.incarnation(),
                        said.hostname(),
                        said.address(),
                        said.cpus(),
                        said.memoryBytes(),
                        said.devices(),
                        said.pool(),
                        said.transports(),
                        said.linkKey(),
                        said.status(),
                        Optional.of(domain),
                        Optional.empty()));
    }

    private void attach(String space) {
        attachments.attach(space, "w", new AttachRequest(WRITER, AttachMode.EXCLUSIVE));
    }

    /** All 12,800 extents have two homes, and the one on h1 has failed. */
    private void failAHomeOfAllExtents() {
        with.membership.register("w", Fixture.node(2, 0));
        register("h1", 11, "x", SPACES * SPACE_BYTES);
        register("h2", 12, "y", SPACES * SPACE_BYTES);
        register("h3", 13, "y", SPACES * SPACE_BYTES);
        for (int i = 0; i < SPACES; i++) {
            with.spaces.create(
                    new SpaceRequest("vm" + i, SPACE_BYTES, OptionalInt.empty(), Optional.empty()).withReplicas(2));
            attach("vm" + i);
        }
        assertEquals(SPACES * EXTENTS, extents().count());
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        with.membership.nodes().stream()
                .filter(node -> !node.id().equals("h1"))
                .forEach(node -> with.membership.heartbeat(node.id(), node.incarnation()));
        with.time.advance(Duration.ofSeconds(1));
        assertEquals(List.of("h1"), with.membership.expire());
    }

    private Stream<Extent> extents() {
        State state = with.ledger.state();
        return state.spaces().values().stream().flatMap(space -> state.extentsOf(space).stream());
    }

    private long joining() {
        return extents().filter(extent -> extent.joining().isPresent()).count();
    }

    /** First no node can take one of many extents, then one can. */
    @Test
    void shouldBoundTimeAndJoinsOfAPassAndNotDelayOtherChanges() throws Exception {
        failAHomeOfAllExtents();
        repairs.step();
        with.time.advance(Duration.ofSeconds(2));
        Deadlines.Wait pass = Deadlines.begin("a pass over " + extents().count() + " extents", LONGEST_PASS);
        repairs.step();
        pass.check();
        assertEquals(0, joining());

        register("h4", 14, "x", SPACES * SPACE_BYTES);
        assertEquals(Repairs.JOINING_IN_A_PASS, repairs.step());
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Future<?> passes = thread.submit(() -> {
                for (int i = 0; i < 5; i++) {
                    repairs.step();
                }
            });
            while (!passes.isDone()) {
                Deadlines.Wait change = Deadlines.begin("a change during a pass", Duration.ofSeconds(1));
                with.ledger.prove();
                change.check();
            }
            passes.get();
        }
        assertEquals(6L * Repairs.JOINING_IN_A_PASS, joining());
        assertEquals(
                SPACES * SPACE_BYTES - joining() * Placement.LEAST_PAGES * PAGE,
                with.freeBytes(with.membership.node("h4").orElseThrow()));
    }

    /** More extents than one pass looks at lack a home that no node can take; behind them is one that has a place. */
    @Test
    void shouldReachASpaceBehindAllThoseThatNothingCanBeDoneFor() {
        failAHomeOfAllExtents();
        register("h5", 15, "z", SPACE_BYTES);
        with.spaces.create(new SpaceRequest("last", SPACE_BYTES, OptionalInt.empty(), Optional.of(List.of("h5"))));
        attach("last");
        new Drains(with.ledger, new Copies(with.time)).begin("h5");
        int passes = 0;
        while (joining() == 0 && passes < SPACES) {
            repairs.step();
            passes++;
        }
        assertEquals(16, joining());
        assertTrue(passes > 1, "one pass looked at all extents");
    }

    @Test
    void shouldNotTakeAPlaceThatAnotherSpaceGotMeanwhile() throws Exception {
        with.membership.register("w", Fixture.node(2, 0));
        register("h1", 11, "x", 4 * PAGE);
        register("h2", 12, "y", 4 * PAGE);
        register("h3", 13, "z", 4 * PAGE);
        with.spaces.create(new SpaceRequest("vm", 4L * PAGE, OptionalInt.empty(), Optional.of(List.of("h1", "h2")))
                .withReplicas(2));
        attach("vm");
        new Drains(with.ledger, new Copies(with.time)).begin("h1");
        CountDownLatch written = new CountDownLatch(1);
        with.store.await(written);
        int begun = with.store.begun();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> first = threads.submit(() -> with.membership.register("o", Fixture.node(3, 0)));
            Deadlines.await("a commit is under way", Deadlines.SHORT).until(() -> with.store.begun() == begun + 1);
            Future<?> other = threads.submit(() -> with.spaces.create(
                    new SpaceRequest("other", 4L * PAGE, OptionalInt.empty(), Optional.of(List.of("h3")))));
            Deadlines.await("another change waits", Deadlines.SHORT).until(() -> with.ledger.waiting() == 1);
            Future<Integer> pass = threads.submit(repairs::step);
            Deadlines.await("the pass waits behind it", Deadlines.SHORT).until(() -> with.ledger.waiting() == 2);
            written.countDown();
            Deadlines.get("the first change", Deadlines.SHORT, first);
            Deadlines.get("the other change", Deadlines.SHORT, other);
            assertEquals(0, Deadlines.get("the pass", Deadlines.SHORT, pass));
        }
        assertEquals(0, joining());
        assertEquals(0, with.freeBytes(with.membership.node("h3").orElseThrow()));
    }
}
