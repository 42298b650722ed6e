package io.farpage.agent.control.pins;

import io.farpage.agent.control.pins.Finding.Kind;
import io.farpage.agent.data.pager.memory.Pins;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Inspects a guest's VMM for pins on a thread of its own: on a pager's request, and regularly. Its results are for any
 * thread, without locks.
 */
public final class PinWatch implements Pins, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PinWatch.class);
    private static final long REGULAR_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long AGAIN_NANOS = TimeUnit.MICROSECONDS.toNanos(200);
    /** How long inspections may be inconclusive before eviction is suspended: faults may wait for a frame meanwhile. */
    private static final long INCONCLUSIVE_TIMEOUT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** The same if no process maps the memory: its VMM has ended, and its pager is about to detect that. */
    private static final long GONE_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** How soon, and how often, a locked ring is examined again within an inspection that a pager waits for. */
    private static final long RECHECK_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    private static final int MAX_RECHECKS = 16;
    /** A change is logged at once. Another change within this time is logged at its end, if it still holds. */
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final long DEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final Duration STOP = Duration.ofSeconds(5);

    private final String space;
    private final PinInspector inspector;
    private final long lingerNanos;
    private final Thread thread;
    private final PinVerdict verdict = new PinVerdict();
    private final AtomicLong wanted = new AtomicLong();
    private volatile long started;
    private volatile long passed;
    private volatile boolean held;
    private volatile boolean lasting;
    private volatile boolean stalled;
    private volatile boolean mayStall;
    private volatile String detail = "";
    private volatile String found = "";
    private volatile long spentNanos;
    private volatile boolean closed;
    private volatile Runnable onInspected = () -> {};

    private volatile Optional<String> unserved = Optional.empty();
    private long seenNanos;
    /** The inspection in which eviction was suspended, or a descriptor that may pin was found last. */
    private long heldIn;

    private boolean unclear;
    private boolean gone;
    private long unclearNanos;
    private boolean loggedHeld;
    private boolean loggedLasting;
    private long loggedNanos;

    private PinWatch(String space, PinInspector inspector, PinPolicy policy) {
        this.space = space;
        this.inspector = inspector;
        lingerNanos = policy.linger().toNanos();
        seenNanos = System.nanoTime() - lingerNanos;
        loggedNanos = System.nanoTime() - LOG_NANOS;
        thread = Thread.ofPlatform().daemon().name("pins-" + space).unstarted(this::run);
    }

    /**
     * Inspects a VMM for the first time, and begins to watch it.
     *
     * @param vmm the process that handed the memory over; 0 if that is not known, which counts as one that may pin it
     * @param file descriptor of the memory file, in this process
     * @throws IOException if the file cannot be inspected
     */
    static PinWatch start(String space, int vmm, int file, PinWatches of) throws IOException {
        MemoryOwners owners = new MemoryOwners(file, of.search());
        PinWatch watch = new PinWatch(space, new PinInspector(vmm, owners), of.policy());
        watch.unserved = watch.inspector.unserved();
        watch.inspectNow();
        watch.thread.start();
        return watch;
    }

    /** Sets what to run when a requested inspection has ended: it wakes the pagers. */
    public void onInspected(Runnable wakePagers) {
        onInspected = wakePagers;
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

    @Override
    public boolean mayStall() {
        return mayStall;
    }

    @Override
    public boolean isStalled() {
        return stalled;
    }

    /**
     * The descriptor that was found last that may pin memory, or why an inspection is impossible; empty if there was
     * none. Any thread.
     */
    public String found() {
        return found;
    }

    /**
     * What may have pinned the memory at any time since the handoff, or why that was unknown for too long; empty if
     * neither was so. Any thread.
     */
    public Optional<String> pinned() {
        return verdict.reason();
    }

    /**
     * Which process maps the memory besides its VMM and is not served, so that it finds zeros and leaves them to the
     * guest; empty if none does. Any thread.
     */
    public Optional<String> unserved() {
        return unserved;
    }

    /** The status, as text for users. Any thread. */
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
                    inspectNow();
                }
                // A pager may have waited for the inspection.
                if (!closed) {
                    inspector.lookForOthers();
                    unserved = inspector.unserved();
                }
            }
        } catch (RuntimeException e) {
            log.error(
                    "space {}: its VMM's descriptors are no longer inspected, so none of its pages is evicted",
                    space,
                    e);
            lasting = true;
            held = true;
            detail = "the inspection of the VMM's descriptors failed: " + e;
        } finally {
            inspector.close();
        }
    }

    private void inspectNow() {
        long number = started + 1;
        long begin = System.nanoTime();
        // A page that was protected before this moment is judged by this inspection.
        started = number;
        Finding found = inspector.scan(number);
        // Read after the scan, since a pager may have requested this very inspection just before it began.
        boolean asked = wanted.get() > passed;
        long now = System.nanoTime();
        long before = spentNanos;
        spentNanos = before + now - begin;
        boolean isBusy = found.kind() == Kind.BUSY;
        boolean isNew = isBusy && !stalled;
        mayStall = inspector.hasRings();
        stalled = isBusy;
        if (asked && isNew) {
            // Faults that wait for a free frame may now use the reserve, which lets the call that locks the ring end.
            onInspected.run();
        }
        if (isBusy && asked && areRingsIdle()) {
            found = Finding.CLEAR;
            stalled = false;
        }
        boolean advances = judge(found, found.isClearOrBusy() ? inspector.provenSince() : 0, now);
        if (asked && (advances || held)) {
            onInspected.run();
        }
    }

    /** Examines locked rings several times: most are locked for the time of a call. */
    private boolean areRingsIdle() {
        for (int i = 0; i < MAX_RECHECKS && !closed; i++) {
            LockSupport.parkNanos(this, RECHECK_NANOS);
            if (inspector.areRingsIdle()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Evaluates an inspection.
     *
     * @param proven the latest inspection that cannot have missed a pin: everything that may pin was inspected after it
     *     began, and no pin was found; 0 if there is none
     * @return whether more inspections have passed than before
     */
    private boolean judge(Finding found, long proven, long now) {
        boolean advances = proven > passed;
        // A locked ring does not matter while no pager waits for an inspection.
        boolean conclusive = found.isClear()
                || found.mayPin()
                || (found.kind() == Kind.BUSY && (advances || wanted.get() <= passed));
        verdict.judge(found, conclusive, now);
        unclearNanos = unclear ? unclearNanos : now;
        if (conclusive) {
            unclearNanos = now;
        }
        unclear = !conclusive;
        gone = found.kind() == Kind.GONE;
        long timeout = gone ? GONE_TIMEOUT_NANOS : INCONCLUSIVE_TIMEOUT_NANOS;
        if (found.mayPin()) {
            seenNanos = now;
            heldIn = started;
        }
        // A ring that stays locked waits for a fault that eviction holds up. Holding ends that, and evidence that is
        // newer ends the hold.
        if (found.mayPin() || (!conclusive && now - unclearNanos > timeout)) {
            hold(found);
        } else if (held && proven > heldIn && now - seenNanos >= lingerNanos) {
            held = false;
            lasting = false;
            detail = "";
        }
        log(now);
        if (held || !advances) {
            return false;
        }
        passed = proven;
        return true;
    }

    private void hold(Finding why) {
        boolean all = why.kind() != Kind.DIRECT_IO && why.kind() != Kind.CHANGING && why.kind() != Kind.BUSY;
        if (!held) {
            heldIn = started;
        }
        lasting = all;
        held = true;
        found = why.detail();
        detail = why.detail()
                + (all
                        ? "; nothing is evicted, and the limit does not hold"
                        : "; pages that were written stay resident, and the limit holds for the others alone");
    }

    private void log(long now) {
        boolean hasChanged = held != loggedHeld || lasting != loggedLasting;
        if (!hasChanged || now - loggedNanos < LOG_NANOS) {
            return;
        }
        loggedNanos = now;
        loggedHeld = held;
        loggedLasting = lasting;
        if (held) {
            log.warn("space {}: {}", space, detail);
        } else {
            log.info("space {}: no pin is left on its memory; eviction resumes", space);
        }
    }

    /** Stops watching. The last result stays readable. */
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
