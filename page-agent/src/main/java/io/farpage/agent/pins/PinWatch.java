package io.farpage.agent.pins;

import io.farpage.agent.pager.Pins;
import io.farpage.agent.pins.Finding.Kind;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Inspects a guest's VMM for pins on a thread of its own: when a pager asks, and regularly. What it says of them is for any thread, without
 * locks.
 */
public final class PinWatch implements Pins, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PinWatch.class);
    private static final long REGULAR_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long AGAIN_NANOS = TimeUnit.MICROSECONDS.toNanos(200);
    /** How long inspections may be inconclusive before pages stay: meanwhile faults may wait for room. */
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** As above, where no process has the memory: its VMM has ended, which its pager is about to find. */
    private static final long PATIENCE_WITH_THE_DEAD_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final long DEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final Duration STOP = Duration.ofSeconds(5);

    private final String space;
    private final PinInspector inspector;
    private final long lingerNanos;
    private final Thread thread;
    private final AtomicLong wanted = new AtomicLong();
    private volatile long started;
    private volatile long passed;
    private volatile boolean held;
    private volatile boolean lasting;
    private volatile String detail = "";
    private volatile String found = "";
    private volatile long spentNanos;
    private volatile boolean closed;
    private volatile Runnable waiting = () -> {};

    private long seenNanos;
    private boolean unclear;
    private boolean gone;
    private long unclearNanos;

    private PinWatch(String space, PinInspector inspector, PinPolicy policy) {
        this.space = space;
        this.inspector = inspector;
        lingerNanos = policy.linger().toNanos();
        seenNanos = System.nanoTime() - lingerNanos;
        thread = Thread.ofPlatform().daemon().name("pins-" + space).unstarted(this::run);
    }

    /**
     * Inspects a VMM for the first time, and begins to watch it.
     *
     * @param vmm the process that handed the memory over; 0 if that is not known, which counts as one that may pin it
     * @param file descriptor of the memory file, in this process
     * @throws IOException if the file cannot be looked at
     */
    public static PinWatch start(String space, int vmm, int file, PinPolicy policy) throws IOException {
        PinWatch watch = new PinWatch(space, new PinInspector(vmm, new MemoryOwners(file)), policy);
        watch.turn();
        watch.thread.start();
        return watch;
    }

    /** What to run when an inspection that was asked for has ended: wakes those that wait. */
    public void tell(Runnable whoAsked) {
        waiting = whoAsked;
    }

    @Override
    public long inspect() {
        long next = started + 1;
        wanted.accumulateAndGet(next, Math::max);
        LockSupport.unpark(thread);
        return next;
    }

    @Override
    public boolean passed(long inspection) {
        return passed >= inspection;
    }

    @Override
    public boolean isHeld() {
        return held;
    }

    @Override
    public boolean isLasting() {
        return lasting;
    }

    /** Which descriptor was found last that may pin memory, or what is in the way of an inspection; empty if none was. Any thread. */
    public String found() {
        return found;
    }

    /** What there is to see. Any thread. */
    public PinStatus status() {
        long inspections = started;
        return new PinStatus(held, detail, inspections, inspections == 0 ? 0 : spentNanos / inspections);
    }

    private void run() {
        try {
            while (!closed) {
                if (wanted.get() <= started) {
                    LockSupport.parkNanos(this, gone ? DEAD_NANOS : unclear ? AGAIN_NANOS : REGULAR_NANOS);
                }
                if (!closed) {
                    turn();
                }
            }
        } catch (RuntimeException e) {
            log.error(
                    "space {}: its VMM's descriptors are not inspected any more, so nothing of it is evicted",
                    space,
                    e);
            lasting = true;
            held = true;
            detail = "the inspection of the VMM's descriptors failed: " + e;
        } finally {
            inspector.close();
        }
    }

    private void turn() {
        boolean asked = wanted.get() > passed;
        long number = started + 1;
        long begin = System.nanoTime();
        // A page that was protected before this moment is judged by this inspection.
        started = number;
        Finding found = inspector.look();
        long now = System.nanoTime();
        long before = spentNanos;
        spentNanos = before + now - begin;
        judge(found, now);
        if (found.isClear() && !held) {
            passed = number;
        }
        if (asked && (held || passed == number)) {
            waiting.run();
        }
    }

    private void judge(Finding found, long now) {
        boolean inconclusive = !found.isClear() && !found.mayPin();
        unclearNanos = unclear ? unclearNanos : now;
        unclear = inconclusive;
        gone = found.kind() == Kind.GONE;
        long patience = gone ? PATIENCE_WITH_THE_DEAD_NANOS : PATIENCE_NANOS;
        if (found.mayPin()) {
            seenNanos = now;
        }
        // A ring that stays locked waits for a fault that eviction holds up. Holding ends that, and the next clear
        // inspection ends the hold.
        if (found.mayPin() || (inconclusive && now - unclearNanos > patience)) {
            hold(found);
        } else if (found.isClear() && held && now - seenNanos >= lingerNanos) {
            held = false;
            lasting = false;
            detail = "";
            log.info("space {}: nothing pins its memory any more; it is evicted as before", space);
        }
    }

    private void hold(Finding why) {
        boolean all = why.kind() != Kind.DIRECT_IO && why.kind() != Kind.CHANGING;
        String now = why.detail()
                + (all
                        ? "; nothing is evicted, and the limit does not hold"
                        : "; pages that were written stay here, and the limit holds for the others alone");
        boolean isNews = !held || lasting != all;
        lasting = all;
        held = true;
        found = why.detail();
        detail = now;
        if (isNews) {
            log.warn("space {}: {}", space, now);
        }
    }

    /** Stops watching; what was found last stays. */
    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
        try {
            if (!thread.join(STOP)) {
                log.warn("{} did not stop within {}", thread.getName(), STOP);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
