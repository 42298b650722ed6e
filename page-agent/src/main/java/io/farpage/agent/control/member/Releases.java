package io.farpage.agent.control.member;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.ReleaseAck;
import io.farpage.pool.PagePool;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Zeroes frames of deleted spaces in the pool, and only then acknowledges the release, so that the frames can be allocated again. */
public final class Releases implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Releases.class);
    private static final long LOOK_AGAIN_SECONDS = 30;
    /** Bytes that are zeroed between two checks whether to stop: at 1 GB/s, 8 ms. */
    static final long SLICE = 8 << 20;

    /** Well within the drain timeout of an agent that is closed. */
    static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;
    private final Zeroing zeroing;
    private final Hosting hosting;
    private final Semaphore signal = new Semaphore(0);
    private final Thread thread;
    private volatile boolean stopping;

    /** Zeroes a range of the pool, as {@link PagePool#zero} does. */
    interface Zeroing {
        void zero(long offset, long length);
    }

    /** @param hosting told of every range that was zeroed, before the coordinator is */
    public Releases(
            CoordinatorClient coordinator, String node, Incarnation incarnation, PagePool pool, Hosting hosting) {
        this(coordinator, node, incarnation, pool::zero, hosting);
    }

    Releases(CoordinatorClient coordinator, String node, Incarnation incarnation, Zeroing zeroing, Hosting hosting) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
        this.zeroing = zeroing;
        this.hosting = hosting;
        this.thread = Thread.ofVirtual().name("releases").unstarted(this::run);
    }

    public void start() {
        thread.start();
    }

    /** There may be releases to carry out. Any thread. */
    public void refresh() {
        signal.release();
    }

    private void run() {
        while (!stopping) {
            try {
                if (signal.tryAcquire(LOOK_AGAIN_SECONDS, TimeUnit.SECONDS)) {
                    signal.drainPermits();
                }
                zeroAll();
            } catch (CoordinatorException e) {
                log.debug("releases: {}", e.toString());
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private void zeroAll() throws CoordinatorException {
        List<Long> done = new ArrayList<>();
        for (Release release : coordinator.releases(node)) {
            if (stopping || !release.incarnation().equals(incarnation)) {
                continue;
            }
            if (zero(release)) {
                hosting.executed(release);
                done.add(release.id());
            }
        }
        if (!done.isEmpty()) {
            coordinator.acknowledgeReleases(node, new ReleaseAck(incarnation, done));
            log.info("zeroed {} released ranges", done.size());
        }
    }

    /** Zeroes a range; false if it was stopped before the end, so that the range has to be zeroed again. */
    private boolean zero(Release release) {
        for (long at = 0; at < release.length(); at += SLICE) {
            if (stopping) {
                return false;
            }
            zeroing.zero(release.offset() + at, Math.min(SLICE, release.length() - at));
        }
        return true;
    }

    /** Stops, after the slice that is being zeroed now. */
    @Override
    public void close() {
        stopping = true;
        signal.release();
        try {
            if (thread.getState() != Thread.State.NEW && !thread.join(CLOSE_TIMEOUT)) {
                log.warn("zeroing released ranges did not stop within {}", CLOSE_TIMEOUT);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
