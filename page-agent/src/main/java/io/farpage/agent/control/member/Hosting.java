package io.farpage.agent.control.member;

import io.farpage.agent.control.ControlThread;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Release;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The extents in this node's pool, as the coordinator listed them last. They are kept as long as the pool, so that a
 * coordinator that lost its store can be rebuilt. Read again after every event that may change them, and acknowledged:
 * a space is attached only once its homes know of it, and detached once they have revoked the access of the node.
 */
public final class Hosting implements AutoCloseable {
    private static final Duration REFRESH = Duration.ofSeconds(30);
    private static final Duration RETRY = Duration.ofMillis(500);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;
    private final PoolAccess access;
    private final PoolPulls pulls;
    private final Map<Long, Release> executed = new ConcurrentHashMap<>();
    private final ControlThread thread;
    private volatile Hosted hosted = Hosted.NOTHING;
    private volatile Consumer<Hosted> keeper = _ -> {};

    /**
     * @param access of other nodes to the pool, which follows what is hosted
     * @param pulls of this node to the pool, which do so, too
     */
    public Hosting(
            CoordinatorClient coordinator, String node, Incarnation incarnation, PoolAccess access, PoolPulls pulls) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
        this.access = access;
        this.pulls = pulls;
        thread = new ControlThread(
                "hosting", new ControlThread.Pauses(Duration.ZERO, RETRY, CLOSE_TIMEOUT), this::fetch);
    }

    public void start() {
        thread.start();
    }

    /**
     * Continues where an earlier process of this node ended, with the pool that it left.
     *
     * @param before what lay in the pool
     * @param keeper told what lies in the pool before that is acknowledged; must not wait
     */
    public void succeed(Hosted before, Consumer<Hosted> keeper) {
        hosted = before;
        this.keeper = keeper;
    }

    /** The extents in the pool may have changed. Any thread. */
    public void refresh() {
        thread.wake();
    }

    /** Whether the pool held pages of a space when it was listed last. Any thread. */
    public boolean mayHold(OptionalLong space) {
        return space.isEmpty()
                || hosted.spaces().stream().anyMatch(each -> each.space().id() == space.getAsLong());
    }

    /** The extents in the pool, as the obeyed coordinator listed them last. Any thread. */
    Hosted hosted() {
        return hosted;
    }

    /** Revokes all access to a range that is about to be zeroed, and ends the pulls to it. Any thread. */
    void revoke(Release release) throws InterruptedException {
        pulls.stop(release.offset(), release.length());
        access.revoke(release.offset(), release.length());
    }

    /** A range was zeroed. Call it before the release is acknowledged. Any thread. */
    void executed(Release release) {
        executed.put(release.id(), release);
    }

    /** The releases that were carried out and that the coordinator may still list. Any thread. */
    List<Release> executed() {
        return List.copyOf(executed.values());
    }

    private Duration fetch() throws CoordinatorException {
        pulls.refreshing();
        access.refreshing();
        Hosted now = coordinator.hosted(node);
        hosted = now;
        keeper.accept(now);
        executed.keySet().retainAll(now.releases().stream().map(Release::id).collect(Collectors.toSet()));
        // Before the acknowledgement, which a detachment waits for.
        access.revokeOthers(now);
        pulls.follow(now);
        coordinator.acknowledgeHosted(node, new HostedAck(incarnation, now.revision()));
        return access.grant(now) ? REFRESH : RETRY;
    }

    @Override
    public void close() {
        thread.close();
    }
}
