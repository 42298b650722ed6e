package io.farpage.agent.control.member;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.TestCoordinator;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A range of 1 GiB that a deleted space leaves, of a real coordinator. What zeroes it records what it was asked for.
 */
@Timeout(60)
class ReleasesTest {
    private static final Incarnation INCARNATION = new Incarnation(7);
    private static final long BYTES = 1L << 30;
    /** What a closing agent gives all that moves pages. */
    private static final Duration DRAIN = Duration.ofSeconds(20);

    private record Range(long offset, long length) {}

    private final List<Range> zeroed = new CopyOnWriteArrayList<>();
    private final List<Range> revoked = new CopyOnWriteArrayList<>();
    private final List<Range> stopped = new CopyOnWriteArrayList<>();

    /** Records what is revoked. */
    private final class RecordedAccess implements PoolAccess {
        @Override
        public void refreshing() {}

        @Override
        public void revokeOthers(Hosted hosted) {}

        @Override
        public boolean grant(Hosted hosted) {
            return true;
        }

        @Override
        public void revoke(long offset, long length) {
            revoked.add(new Range(offset, length));
        }

        @Override
        public void bar(String node, Incarnation incarnation) {}

        @Override
        public void lift(String node, Incarnation incarnation) {}
    }

    private final class RecordedPulls implements PoolPulls {
        @Override
        public void refreshing() {}

        @Override
        public void follow(Hosted hosted) {}

        @Override
        public void stop(long offset, long length) {
            stopped.add(new Range(offset, length));
        }
    }

    @TempDir
    private Path directory;

    private TestCoordinator coordinator;
    private CoordinatorClient client;
    private Hosting hosting;

    @BeforeEach
    void releaseARange() throws Exception {
        coordinator = new TestCoordinator(directory);
        client = coordinator.client();
        hosting = new Hosting(client, "a", INCARNATION, new RecordedAccess(), new RecordedPulls());
        coordinator.register("a", INCARNATION, BYTES);
        client.createSpace(new SpaceRequest("gone", BYTES, OptionalInt.of(4096), Optional.of(List.of("a"))));
        client.deleteSpace("gone");
        assertEquals(BYTES, client.releases("a").getFirst().length());
    }

    @AfterEach
    void end() {
        coordinator.close();
    }

    private Releases start(Releases.Zeroing zeroing) {
        Releases releases = new Releases(client, "a", INCARNATION, new Releases.Room(INCARNATION, zeroing), hosting);
        releases.start();
        releases.refresh();
        return releases;
    }

    @Test
    void shouldZeroTheWholeRangeInSlicesAndThenAcknowledgeIt() {
        try (Releases releases = start((offset, length) -> {
            assertEquals(List.of(new Range(0, BYTES)), revoked, "revoked before the first byte is zeroed");
            assertEquals(List.of(new Range(0, BYTES)), stopped, "pulls to it end before the first byte is zeroed");
            zeroed.add(new Range(offset, length));
        })) {
            Deadlines.await("the acknowledgement", Deadlines.LONG)
                    .until(() -> client.releases("a").isEmpty());
            releases.refresh();
        }
        long next = 0;
        for (Range range : zeroed) {
            assertEquals(next, range.offset());
            assertTrue(range.length() > 0 && range.length() <= Releases.SLICE, range.toString());
            next += range.length();
        }
        assertEquals(BYTES, next);
    }

    @Test
    void shouldEndAfterTheSliceThatIsUnderWayWhenItIsClosed() throws Exception {
        Releases releases = start((offset, length) -> {
            zeroed.add(new Range(offset, length));
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
        });
        Deadlines.await("a few slices", Deadlines.LONG).until(() -> zeroed.size() >= 3);
        int before = zeroed.size();
        releases.close();
        assertTrue(zeroed.size() <= before + 2, before + " slices before, and then " + zeroed.size());
        assertTrue(zeroed.size() * Releases.SLICE < BYTES, "the range was not finished");
        assertEquals(1, client.releases("a").size(), "a range that is not zero throughout is not acknowledged");
    }

    @Test
    @Tag("soak")
    void shouldNotHoldUpAClosingAgentWhenASliceDoesNotEnd() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch stuck = new CountDownLatch(1);
        Releases releases = start((offset, length) -> {
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
            releases.close();
            end.check();
        } finally {
            stuck.countDown();
        }
    }
}
