package io.farpage.agent.control.guest;

import io.farpage.agent.control.guest.GuestException.Obstacle;
import io.farpage.agent.data.pager.PagerStatus;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** Parks a guest and waits until its memory has left. Any thread. */
final class GuestParking {
    /** What stays resident unless a request says otherwise: room for the pages that an idle kernel touches. */
    static final long KEEP_BYTES = 1 << 20;

    static final Duration DEADLINE = Duration.ofSeconds(10);
    static final Duration MAX_DEADLINE = Duration.ofSeconds(20);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private final LongSupplier clock;

    /** @param clock monotonic nanoseconds */
    GuestParking(LongSupplier clock) {
        this.clock = clock;
    }

    /**
     * Parks a guest. If the deadline passes before its memory has left, it is parked all the same, and the result says
     * why the rest is still resident.
     *
     * @throws GuestException if its memory cannot be evicted, or it has faulted so often meanwhile that it is not idle
     */
    ParkResult park(Guest guest, ParkRequest request) throws GuestException {
        long millis = request.deadlineMillis().orElse(DEADLINE.toMillis());
        if (millis < 0 || millis > MAX_DEADLINE.toMillis()) {
            throw new GuestException(
                    Obstacle.INVALID, "deadlineMillis is %d; give 0 to %d".formatted(millis, MAX_DEADLINE.toMillis()));
        }
        long began = clock.getAsLong();
        park(guest, request.keepBytes().orElse(KEEP_BYTES), request.keepBytes().isPresent());
        while (true) {
            PagerStatus now = guest.where();
            Parked parked = guest.parked().orElseThrow(() -> notIdle(guest));
            long resident = now.residentPages() - now.strandedPages();
            long elapsed = TimeUnit.NANOSECONDS.toMillis(clock.getAsLong() - began);
            boolean complete = resident <= parked.keepPages();
            if (complete || elapsed >= millis) {
                return new ParkResult(
                        complete,
                        now.residentPages() * now.pageSize(),
                        parked.leftPages(now.residentPages()) * now.pageSize(),
                        elapsed,
                        complete ? "" : obstacle(guest.status()));
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /**
     * Begins to park a guest.
     *
     * @param isExact whether the caller has chosen {@code keepBytes}; if not, it is raised to the least possible
     */
    static void park(Guest guest, long keepBytes, boolean isExact) throws GuestException {
        if (!guest.isAttached()) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "space '%s' has no guest whose VMM runs; wait until it has attached".formatted(guest.space()));
        }
        if (guest.use().space().isCoherent()) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "space '%s' is coherent, and its guests are not parked; lower the limit instead: page-agent resize"
                            .formatted(guest.space()));
        }
        GuestStatus now = guest.status();
        PagerStatus where = now.where();
        if (!now.evictable()) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    ("the memory of space '%s' cannot be evicted: its VMM handed over no memory file; start it with"
                                    + " shared memory (memory-backend-memfd,share=on), or load the preload library")
                            .formatted(guest.space()));
        }
        long least = guest.leastParkedPages();
        long keep = keepBytes / where.pageSize();
        if (keep < least && isExact) {
            throw new GuestException(
                    Obstacle.INVALID,
                    "keepBytes is %d; the least for this guest is %d (%d pages)"
                            .formatted(keepBytes, least * where.pageSize(), least));
        }
        try {
            guest.park((int) Math.min(Integer.MAX_VALUE, Math.max(keep, least)));
        } catch (TimeoutException e) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "a shard did not answer within %d s; its part of space '%s' is parked when it does"
                            .formatted(PagerHost.TIMEOUT.toSeconds(), guest.space()));
        }
    }

    private static GuestException notIdle(Guest guest) {
        return new GuestException(
                Obstacle.CONFLICT,
                guest.isAttached()
                        ? ("the guest of space '%s' was unparked meanwhile: it faults so often that it is not idle."
                                        + " Pause its VMM first, or let more stay (keepBytes, --keep)")
                                .formatted(guest.space())
                        : "the guest of space '%s' has ended".formatted(guest.space()));
    }

    private static String obstacle(GuestStatus now) {
        PagerStatus where = now.where();
        if (!now.pins().detail().isEmpty()) {
            return now.pins().detail();
        }
        if (where.children() > 0) {
            return "%d processes that the VMM has forked share its memory; nothing is evicted while they do"
                    .formatted(where.children());
        }
        return "%d pages are still resident, %d of them dirty; they leave as fast as their homes answer"
                .formatted(where.residentPages(), where.dirtyPages());
    }
}
