package io.farpage.agent.control.member;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.TestCoordinator;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A range of 1 GiB that a deleted space leaves, of a real coordinator. What zeroes it records what it was asked for.
 */
class ReleasesTest {
    private static final Incarnation INCARNATION = new Incarnation(7);
    private static final long BYTES = 1L << 30;
    /** What a closing agent gives all that moves pages. */
    private static final Duration DRAIN = Duration.ofSeconds(20);

    private record Range(long offset, long length) {}

    private final List<Range> zeroed = new CopyOnWriteArrayList<>();
    private final List<Range> revoked = new CopyOnWriteArrayList<>();
    private final List<Range> stopped = new CopyOnWriteArrayList<>();

    private final PoolAccess access = new PoolAccess() {
        @Override
        public void follow(Hosted hosted) {}

        @Override
        public void revoke(long offset, long length) {
            revoked.add(new Range(offset, length));
        }
    };

    private final PoolPulls pulls = new PoolPulls() {
        @Override
        public void follow(Hosted hosted) {}

        @Override
        public CompletableFuture<Void> stop(long offset, long length) {
            stopped.add(new Range(offset, length));
            return CompletableFuture.completedFuture(null);
        }
    };

    private final Hosting.Links links = new Hosting.Links() {
        @Override
        public CompletableFuture<Void> fence(String peer, Incarnation old) {
            throw new AssertionError("no fence");
        }

        @Override
        public void unfence(String peer, Incarnation old) {}

        @Override
        public void want(String peer) {}
    };

    @TempDir
    private Path directory;

    private TestCoordinator coordinator;
    private CoordinatorClient client;

    @BeforeEach
    void releaseARange() throws Exception {
        coordinator = new TestCoordinator(directory);
        client = coordinator.client();
        coordinator.register("a", INCARNATION, BYTES);
        client.createSpace(new SpaceRequest("gone", BYTES, OptionalInt.of(4096), Optional.of(List.of("a"))));
        client.deleteSpace("gone");
        assertEquals(BYTES, releases().getFirst().length());
    }

    @AfterEach
    void end() {
        coordinator.close();
    }

    private Hosting start(Hosting.Zeroing zeroing) {
        Hosting hosting = new Hosting(
                new Hosting.Client(client, "a"),
                new Hosting.Home(INCARNATION, INCARNATION, zeroing, _ -> CompletableFuture.allOf()),
                links,
                access,
                pulls,
                System::nanoTime);
        hosting.start();
        return hosting;
    }

    private List<Release> releases() throws CoordinatorException {
        return client.hosted("a").releases();
    }

    @Test
    void shouldZeroTheWholeRangeInSlicesAndThenAcknowledgeIt() {
        try (Hosting hosting = start((offset, length) -> {
            assertEquals(List.of(new Range(0, BYTES)), revoked, "revoked before the first byte is zeroed");
            assertEquals(List.of(new Range(0, BYTES)), stopped, "pulls to it end before the first byte is zeroed");
            zeroed.add(new Range(offset, length));
        })) {
            Deadlines.await("the acknowledgement", Deadlines.LONG)
                    .until(() -> releases().isEmpty());
            hosting.refresh();
        }
        long next = 0;
        for (Range range : zeroed) {
            assertEquals(next, range.offset());
            assertTrue(range.length() > 0 && range.length() <= Hosting.SLICE, range.toString());
            next += range.length();
        }
        assertEquals(BYTES, next);
    }

    @Test
    void shouldEndAfterTheSliceThatIsUnderWayWhenItIsClosed() throws Exception {
        Hosting hosting = start((offset, length) -> {
            zeroed.add(new Range(offset, length));
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
        });
        Deadlines.await("a few slices", Deadlines.LONG).until(() -> zeroed.size() >= 3);
        int before = zeroed.size();
        hosting.close();
        assertTrue(zeroed.size() <= before + 2, before + " slices before, and then " + zeroed.size());
        assertTrue(zeroed.size() * Hosting.SLICE < BYTES, "the range was not finished");
        assertEquals(1, releases().size(), "a range that is not zero throughout is not acknowledged");
    }

    @Test
    @Tag("soak")
    void shouldNotHoldUpAClosingAgentWhenASliceDoesNotEnd() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch stuck = new CountDownLatch(1);
        Hosting hosting = start((offset, length) -> {
            begun.countDown();
            try {
                stuck.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Deadlines.down("the beginning", Deadlines.LONG, begun);
        Deadlines.Wait end = Deadlines.begin("the end", DRAIN.dividedBy(2));
        try {
            hosting.close();
            end.check();
        } finally {
            stuck.countDown();
        }
    }
}
