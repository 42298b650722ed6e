package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.store.StoreException;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class GroupedCommitTest {

    private static final int NODES = 50;

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);

    /** Has changes wait while the store writes another one; returns the changes that wait. */
    private List<Future<?>> registerWhileTheStoreWrites(ExecutorService threads, CountDownLatch written) {
        with.store.await(written);
        int begun = with.store.begun();
        List<Future<?>> changes = new ArrayList<>();
        changes.add(threads.submit(() -> with.membership.register("first", Fixture.node(1, 0))));
        Deadlines.await("a commit is under way", Deadlines.SHORT).until(() -> with.store.begun() == begun + 1);
        for (int i = 0; i < NODES; i++) {
            String node = "n" + i;
            changes.add(threads.submit(() -> with.membership.register(node, Fixture.node(1, 0))));
        }
        Deadlines.await("changes wait", Deadlines.SHORT).until(() -> with.ledger.waiting() == NODES);
        return changes;
    }

    @Test
    void shouldCommitTogetherWhatWaitsForTheSameCommit() throws Exception {
        CountDownLatch written = new CountDownLatch(1);
        long before = with.store.revision();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> changes = registerWhileTheStoreWrites(threads, written);
            written.countDown();
            for (Future<?> change : changes) {
                Deadlines.get("a change", Deadlines.LONG, change);
            }
        }
        assertEquals(before + 2, with.store.revision());
        assertEquals(NODES + 1, with.membership.nodes().size());
        with.restart();
        assertEquals(NODES + 1, with.membership.nodes().size());
    }

    @Test
    void shouldFailAllOfAGroupThatCannotBeStored() throws Exception {
        CountDownLatch written = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> changes = registerWhileTheStoreWrites(threads, written);
            with.store.fill(true);
            written.countDown();
            for (Future<?> change : changes) {
                ExecutionException e =
                        assertThrows(ExecutionException.class, () -> Deadlines.get("a change", Deadlines.LONG, change));
                assertTrue(e.getCause() instanceof StoreException, e.toString());
            }
        }
        assertEquals(List.of(), with.membership.nodes());
        with.store.fill(false);
        with.membership.register("later", Fixture.node(1, 0));
        assertEquals(1, with.membership.nodes().size());
    }

    /** Makes two changes that are committed together, in this order, and returns how they ended. */
    private List<Future<?>> together(Runnable first, Runnable second) throws Exception {
        CountDownLatch written = new CountDownLatch(1);
        with.store.await(written);
        int begun = with.store.begun();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> before = threads.submit(() -> with.membership.register("before", Fixture.node(1, 0)));
            Deadlines.await("a commit is under way", Deadlines.SHORT).until(() -> with.store.begun() == begun + 1);
            List<Future<?>> changes = new ArrayList<>();
            for (Runnable change : List.of(first, second)) {
                changes.add(threads.submit(change));
                Deadlines.await("changes wait", Deadlines.SHORT).until(() -> with.ledger.waiting() == changes.size());
            }
            written.countDown();
            Deadlines.get("the change before", Deadlines.LONG, before);
            return changes;
        }
    }

    private void makeASpace(Optional<String> keyId) {
        with.membership.register("home", Fixture.node(1, 8192));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        with.spaces.create(new SpaceRequest(
                "vm", 8192, OptionalInt.empty(), Optional.empty(), keyId, Optional.empty(), OptionalInt.empty()));
    }

    private void attach(String node, long incarnation) {
        attachments.attach("vm", node, new AttachRequest(new Incarnation(incarnation), AttachMode.EXCLUSIVE));
    }

    private static void assertRefused(String code, Future<?> change) {
        ExecutionException e = assertThrows(ExecutionException.class, change::get);
        assertTrue(
                e.getCause() instanceof ProblemException refused
                        && refused.problem("").is(code),
                e::toString);
    }

    @Test
    void shouldNotAttachASpaceThatAnEarlierChangeOfTheGroupHasTorn() throws Exception {
        makeASpace(Optional.empty());
        attach("a", 2);
        List<Future<?>> changes = together(
                () -> attachments.detach("vm", "a", new Incarnation(2), Detachment.torn("the guest was killed")),
                () -> attach("b", 3));
        changes.getFirst().get();
        assertRefused("space-torn", changes.getLast());
    }

    @Test
    void shouldKeepTheSealOfAnEarlierChangeOfTheGroup() throws Exception {
        makeASpace(Optional.of("0123456789abcdef"));
        attach("a", 2);
        List<Future<?>> changes = together(
                () -> attachments.detach(
                        "vm", "a", new Incarnation(2), Detachment.sealed("0123456789abcdef0123456789abcdef")),
                () -> with.spaces.allow("vm", new SpaceNodes(Optional.of(List.of("a", "b"))), Optional.empty()));
        for (Future<?> change : changes) {
            change.get();
        }
        Space space = with.spaces.require("vm");
        assertEquals(Optional.of(List.of("a", "b")), space.nodes());
        assertTrue(space.encryption().orElseThrow().sealed().isPresent());
    }

    @Test
    void shouldNotRestoreASpaceThatAnEarlierChangeOfTheGroupDeleted() throws Exception {
        makeASpace(Optional.empty());
        List<Future<?>> changes = together(
                () -> with.spaces.delete("vm", false),
                () -> with.spaces.allow("vm", new SpaceNodes(Optional.of(List.of("a"))), Optional.empty()));
        changes.getFirst().get();
        assertRefused("not-found", changes.getLast());
        assertEquals(List.of(), with.spaces.all());
    }

    @Test
    void shouldNotAttachASpaceThatAnEarlierChangeOfTheGroupHasDeleted() throws Exception {
        makeASpace(Optional.empty());
        List<Future<?>> changes = together(() -> with.spaces.delete("vm", false), () -> attach("b", 3));
        changes.getFirst().get();
        assertRefused("not-found", changes.getLast());
        assertEquals(0, with.ledger.state().attachments().size());
    }

    /** The state in it would be the one of before the group. */
    @Test
    void shouldRefuseToShowTheStateToAChange() {
        assertThrows(IllegalStateException.class, () -> with.ledger.change(_ -> with.ledger.state()));
        assertEquals(0, with.ledger.state().nodes().size());
    }

    @Test
    void shouldFailAllOfAGroupWhoseCommitEndsByAnError() throws Exception {
        CountDownLatch written = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> changes = registerWhileTheStoreWrites(threads, written);
            with.store.failWith(new LinkageError("a class is missing"));
            written.countDown();
            for (Future<?> change : changes) {
                ExecutionException e = assertThrows(
                        ExecutionException.class, () -> Deadlines.get("a change", Duration.ofSeconds(5), change));
                assertTrue(e.getCause() instanceof LinkageError, e::toString);
            }
        }
        with.store.fill(false);
        with.membership.register("later", Fixture.node(1, 0));
        assertEquals(1, with.membership.nodes().size());
    }

    /** A change that is refused has no effect, and the others of its group have theirs. */
    @Test
    void shouldRefuseOneOfAGroupAlone() {
        with.membership.register("a", Fixture.node(1, 0));
        assertThrows(ProblemException.class, () -> with.links.publish("a", "missing", Fixture.endpoint(1, 1, 1)));
        with.membership.register("b", Fixture.node(1, 0));
        assertEquals(2, with.membership.nodes().size());
    }

    @Test
    void shouldRefuseAloneAChangeWhoseRowTheStoreCannotTake() throws Exception {
        makeASpace(Optional.empty());
        with.store.limitRows(1_000);
        List<String> nodes =
                IntStream.range(0, 200).mapToObj(number -> "node-" + number).toList();
        List<Future<?>> both = together(
                () -> with.spaces.allow("vm", new SpaceNodes(Optional.of(nodes)), Optional.empty()),
                () -> with.membership.register("c", Fixture.node(4, 0)));
        assertRefused("limit", both.get(0));
        both.get(1).get();
        assertEquals(Optional.empty(), with.ledger.failure(), "the store has not failed");
        assertTrue(with.membership.node("c").isPresent());
    }
}
