package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.store.StoreException;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.rest.Health.Part;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What {@code /health} says of the store: whether it can be written now, and not only whether it could once. */
class StoreProbeTest {
    private static final Duration LONGER_THAN_FRESH = Duration.ofSeconds(11);

    private final Fixture with = new Fixture();
    private final AtomicLong passed = new AtomicLong();
    private final StoreProbe probe = probe(Duration.ofMinutes(1));

    private StoreProbe probe(Duration deadline) {
        return new StoreProbe(with.ledger, () -> System.nanoTime() + passed.get(), deadline);
    }

    private static void requireOk(String detail, Part part) {
        assertEquals(Part.ok("store", detail), part);
    }

    private static Instant requireFailed(String detail, Part part) {
        assertEquals(new Part("store", "failed", detail, part.since()), part);
        return Instant.parse(part.since().orElseThrow());
    }

    private void waitUntilTheLastCommitIsOld() {
        passed.addAndGet(LONGER_THAN_FRESH.toNanos());
    }

    @Test
    void shouldWriteNothingWithinTenSecondsOfACommit() {
        requireOk("it was written within the last 10 s", probe.part());
        assertEquals(0, with.store.begun());
    }

    @Test
    void shouldCommitWhenTheLastCommitIsOlder() {
        waitUntilTheLastCommitIsOld();
        requireOk("a commit was written just now", probe.part());
        assertEquals(1, with.store.begun());
    }

    @Test
    void shouldFailAsLongAsTheStoreCannotBeWrittenAndSaySinceWhen() {
        waitUntilTheLastCommitIsOld();
        with.store.fill(true);
        Instant first = requireFailed("the disk is full", probe.part());
        awaitMillisecondAfter(first);
        assertEquals(first, requireFailed("the disk is full", probe.part()), "since the first failure");
        with.store.fill(false);
        requireOk("a commit was written just now", probe.part());

        waitUntilTheLastCommitIsOld();
        with.store.fill(true);
        assertNotEquals(first, requireFailed("the disk is full", probe.part()), "a failure of its own");
    }

    private static void awaitMillisecondAfter(Instant moment) {
        Deadlines.await("the next milliseconds", Deadlines.SHORT)
                .until(() -> Instant.now().isAfter(moment.plusMillis(2)));
    }

    /** A change has failed a moment ago, so that an earlier commit shows nothing. */
    @Test
    void shouldProbeAfterAChangeThatFailedHoweverFreshTheLastCommitIs() {
        with.store.fill(true);
        assertThrows(StoreException.class, () -> with.membership.register("a", Fixture.node(1, 4096)));
        requireFailed("the disk is full", probe.part());
        assertEquals(2, with.store.begun());
    }

    @Test
    void shouldFailAndProbeAgainAfterAFailureThatIsNoneOfTheStores() {
        waitUntilTheLastCommitIsOld();
        with.store.failWith(new ClassCastException("a defect"));
        requireFailed("a commit failed: java.lang.ClassCastException: a defect", probe.part());
        with.store.fill(false);
        requireOk("a commit was written just now", probe.part());
    }

    @Test
    void shouldAnswerByDeadlineWithOneCommitUnderWayWhenDiskHangs() throws Exception {
        Duration deadline = Duration.ofMillis(300);
        StoreProbe impatient = probe(deadline);
        CountDownLatch disk = new CountDownLatch(1);
        with.store.await(disk);
        waitUntilTheLastCommitIsOld();
        FutureTask<Part> other = new FutureTask<>(impatient::part);
        Thread.ofPlatform().daemon().start(other);
        long began = System.nanoTime();
        Deadlines.Wait both = Deadlines.begin("two requests at once", Duration.ofSeconds(2));
        Instant since = requireFailed("a commit has not ended; the disk may not answer", impatient.part());
        requireFailed("a commit has not ended; the disk may not answer", other.get());
        both.check();
        long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
        assertTrue(took >= deadline.toMillis() / 2, "two requests at once took " + took + " ms");

        Deadlines.Wait next = Deadlines.begin("a request while the commit is late already", Duration.ofSeconds(1));
        assertEquals(since, requireFailed("a commit has not ended; the disk may not answer", impatient.part()));
        next.check();
        assertEquals(1, with.store.begun());

        disk.countDown();
        Deadlines.await("the store answers again", Deadlines.SHORT)
                .until(() -> impatient.part().state().equals("ok"));
        assertEquals(Optional.empty(), impatient.part().since());
    }
}
