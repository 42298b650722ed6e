package io.farpage.agent.control.member;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.ReleaseAck;
import io.farpage.pool.PagePool;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Zeroes frames of deleted spaces in the pool, and only then acknowledges the release, so that the frames can be
 * allocated again.
 */
public final class Releases implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Releases.class);
    private static final Duration REFRESH = Duration.ofSeconds(30);
    /** Bytes that are zeroed between two checks whether to stop: at 1 GB/s, 8 ms. */
    static final long SLICE = 8 << 20;

    /** Well within the drain timeout of an agent that is closed. */
    static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;
    private final Room room;
    private final Hosting hosting;
    private final ControlThread thread;

    /** The pool, and how a range of it is zeroed. */
    record Room(Incarnation pool, Zeroing zeroing) {}

    /** Zeroes a range of the pool, as {@link PagePool#zero} does. */
    interface Zeroing {
        void zero(long offset, long length);
    }

    /** @param hosting told of every range before it is zeroed, and afterwards before the coordinator is */
    public Releases(LocalNode self, Hosting hosting) {
        this(self.coordinator(), self.id(), self.incarnation(), new Room(self.poolId(), self.pool()::zero), hosting);
    }

    Releases(CoordinatorClient coordinator, String node, Incarnation incarnation, Room room, Hosting hosting) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
        this.room = room;
        this.hosting = hosting;
        thread =
                new ControlThread("releases", new ControlThread.Pauses(REFRESH, REFRESH, CLOSE_TIMEOUT), this::zeroAll);
    }

    public void start() {
        thread.start();
    }

    /** There may be releases to carry out. Any thread. */
    public void refresh() {
        thread.wake();
    }

    private Duration zeroAll() throws CoordinatorException, InterruptedException {
        List<Long> done = new ArrayList<>();
        for (Release release : coordinator.releases(node)) {
            if (thread.isStopping() || !release.incarnation().equals(room.pool())) {
                continue;
            }
            hosting.revoke(release);
            if (zero(release)) {
                hosting.executed(release);
                done.add(release.id());
            }
        }
        if (!done.isEmpty()) {
            coordinator.acknowledgeReleases(node, new ReleaseAck(incarnation, done));
            log.info("zeroed {} released ranges", done.size());
        }
        return REFRESH;
    }

    /** Zeroes a range; false if it was stopped before the end, so that the range has to be zeroed again. */
    private boolean zero(Release release) {
        for (long at = 0; at < release.length(); at += SLICE) {
            if (thread.isStopping()) {
                return false;
            }
            room.zeroing().zero(release.offset() + at, Math.min(SLICE, release.length() - at));
        }
        return true;
    }

    /** Stops, after the slice that is being zeroed now. */
    @Override
    public void close() {
        thread.close();
    }
}
