package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.store.StoreException;
import io.farpage.rest.ProblemException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class GroupedCommitTest {

    private static final int NODES = 50;

    private final Fixture with = new Fixture();

    /** Has changes wait while the store writes another one; returns the changes that wait. */
    private List<Future<?>> registerWhileTheStoreWrites(ExecutorService threads, CountDownLatch written) {
        with.store.await(written);
        int begun = with.store.begun();
        List<Future<?>> changes = new ArrayList<>();
        changes.add(threads.submit(() -> with.membership.register("first", Fixture.node(1, 0))));
        Awaitility.await().until(() -> with.store.begun() == begun + 1);
        for (int i = 0; i < NODES; i++) {
            String node = "n" + i;
            changes.add(threads.submit(() -> with.membership.register(node, Fixture.node(1, 0))));
        }
        Awaitility.await().until(() -> with.ledger.waiting() == NODES);
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
                change.get(30, TimeUnit.SECONDS);
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
                ExecutionException e = assertThrows(ExecutionException.class, () -> change.get(30, TimeUnit.SECONDS));
                assertTrue(e.getCause() instanceof StoreException, e.toString());
            }
        }
        assertEquals(List.of(), with.membership.nodes());
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
}
