package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("portable")
class LeaseTimeTest {

    private static final Duration LENGTH = Duration.ofSeconds(4);
    private static final Duration TERM = Duration.ofSeconds(3);

    private final AtomicLong boot = new AtomicLong(1_000);
    private final LeaseTime time = new LeaseTime(LENGTH, boot::get, boot.get());

    private void suspend(Duration howLong) {
        boot.addAndGet(howLong.toNanos());
    }

    @Test
    void shouldHoldForThreeQuartersOfTheLength() {
        suspend(TERM.minusNanos(1));
        assertTrue(time.holds());
        suspend(Duration.ofNanos(1));
        assertFalse(time.holds());
    }

    @Test
    void shouldCountARenewalFromItsSending() {
        suspend(Duration.ofSeconds(1));
        long sent = time.now();
        suspend(Duration.ofSeconds(1));
        assertTrue(time.renew(sent));
        suspend(Duration.ofSeconds(2).minusNanos(1));
        assertTrue(time.holds());
        suspend(Duration.ofNanos(1));
        assertFalse(time.holds());
    }

    @Test
    void shouldStayEndedWhenARenewalIsAnsweredAfterTheEnd() {
        suspend(TERM);
        assertFalse(time.renew(time.now()));
        assertFalse(time.holds());
    }

    @Test
    void shouldStopWaitingWhenItHasEnded() throws InterruptedException {
        assertFalse(time.awaitEnd(Duration.ofMillis(1)));
        suspend(TERM);
        assertTrue(time.awaitEnd(Duration.ofMinutes(1)));
        LeaseTime ended = new LeaseTime(LENGTH, boot::get, boot.get());
        ended.end();
        assertFalse(ended.holds());
        assertTrue(ended.awaitEnd(Duration.ofMinutes(1)));
        assertTrue(ended.pause(Duration.ofMinutes(1)));
    }

    @Test
    void shouldReadTheTimeSinceBoot(@TempDir Path directory) throws Exception {
        Path uptime = Files.writeString(directory.resolve("uptime"), "350735.47 234388.90\n");
        LongSupplier clock = BootClock.open(uptime);
        assertEquals(350_735_470_000_000L, clock.getAsLong());
        Files.writeString(uptime, "1350735.48 234388.90\n");
        assertEquals(1_350_735_480_000_000L, clock.getAsLong(), "each time anew");
    }

    @Test
    void shouldNotHoldWhenTheTimeCannotBeRead(@TempDir Path directory) throws Exception {
        Path uptime = Files.writeString(directory.resolve("uptime"), "1.00 1.00\n");
        LongSupplier clock = BootClock.open(uptime);
        LeaseTime lease = new LeaseTime(LENGTH, clock, clock.getAsLong());
        assertTrue(lease.holds());
        Files.writeString(uptime, "");
        assertFalse(lease.holds());
        assertFalse(new LeaseTime(LENGTH, clock, clock.getAsLong()).holds());
    }

    @Test
    void shouldHaveTheMonotonicClockWhereTheFileIsMissing(@TempDir Path directory) {
        LongSupplier clock = BootClock.open(directory.resolve("uptime"));
        long before = System.nanoTime();
        assertTrue(clock.getAsLong() - before >= 0);
    }
}
