package io.farpage.bench.agents;

import io.farpage.agent.control.ControlThread;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Registration;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The control plane of a page agent without pool and queue pairs: it registers, keeps its lease, follows the events,
 * and asks for what a page agent asks for after each. Its loops are those of a page agent: membership, events, links
 * with what it hosts and what it needs for its spaces, and figures of guests.
 */
final class PretendedAgent implements AutoCloseable {
    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final Duration RETRY = Duration.ofMillis(200);
    private static final Duration HOSTING_REFRESH = Duration.ofSeconds(30);
    private static final Duration FIGURES_INTERVAL = Duration.ofSeconds(5);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final String id;
    private final Registration registration;
    private final CoordinatorClient coordinator;
    private final Watch watch;
    private final Measures measures;
    private final PretendedLinks links;
    private final ControlThread membership;
    private final ControlThread events;
    private final ControlThread work;
    private final ControlThread figures;
    private final AtomicBoolean hostingStale = new AtomicBoolean();
    /** The space whose guest it pretends to serve; 0, which is none, before it has attached one. */
    private volatile long space;

    private volatile boolean reportsFigures;
    private volatile boolean registered;
    private volatile boolean silent;
    private volatile long renewedNanos;
    private volatile boolean followsEvents;
    private long hostingNanos;
    private long attachedMark;
    private long index;
    private boolean missed = true;

    /** Told of the events that agents receive; any thread. */
    interface Watch {
        void received(String agent, Event event);
    }

    /** @param coordinator shared with no other agent */
    PretendedAgent(String id, CoordinatorClient coordinator, Links mode, Measures measures, Watch watch) {
        this.id = id;
        this.measures = measures;
        this.watch = watch;
        this.registration = Documents.registration();
        this.coordinator = coordinator;
        this.links = new PretendedLinks(id, registration.incarnation(), coordinator, mode, measures);
        this.membership = thread("membership", Duration.ZERO, this::renew);
        this.events = thread("events", Duration.ZERO, this::awaitEvents);
        this.work = thread("links and hosting", WAIT, this::step);
        this.figures = thread("figures", ControlThread.UNTIL_WOKEN, this::report);
    }

    private static ControlThread thread(String name, Duration first, ControlThread.Step step) {
        return new ControlThread(name, new ControlThread.Pauses(first, RETRY, CLOSE_TIMEOUT), step);
    }

    void start() {
        membership.start();
        events.start();
        work.start();
        figures.start();
    }

    String id() {
        return id;
    }

    /** Whether it is registered and follows the events. */
    boolean isReady() {
        return registered && followsEvents;
    }

    /** Sends no more heartbeats, as an agent whose host has died. */
    void fallSilent() {
        silent = true;
    }

    /**
     * When the last heartbeat was sent that the coordinator has answered, by {@link System#nanoTime()}: the lease was
     * renewed then or later.
     */
    long renewedNanos() {
        return renewedNanos;
    }

    /** Changes what it says of itself, so that an event is emitted. */
    void change(NodeStatus status) throws CoordinatorException {
        long start = System.nanoTime();
        coordinator.register(id, registration.withStatus(status));
        measures.changes.record(System.nanoTime() - start);
    }

    CoordinatorClient coordinator() {
        return coordinator;
    }

    Registration registration() {
        return registration;
    }

    PretendedLinks links() {
        return links;
    }

    /** Links to {@code peer} are wanted from now on. */
    void want(String peer) {
        links.want(peer);
        work.wake();
    }

    /** It has attached a space. */
    void attached(long id) {
        space = id;
    }

    /** From now on it reports how a guest faults, as a page agent does whose guest runs. */
    void reportFigures() {
        reportsFigures = true;
        figures.wake();
    }

    private Duration report() throws CoordinatorException {
        if (!reportsFigures || silent) {
            return ControlThread.UNTIL_WOKEN;
        }
        coordinator.reportFigures(id, Documents.figures(registration.incarnation(), space));
        return spread(FIGURES_INTERVAL);
    }

    private Duration renew() throws CoordinatorException {
        if (silent) {
            return ControlThread.UNTIL_WOKEN;
        }
        if (!registered) {
            coordinator.register(id, registration.withStatus(NodeStatus.ACTIVE));
            coordinator.allegiance().join();
            registered = true;
        }
        long start = System.nanoTime();
        Duration pause = coordinator.heartbeat(id, registration.incarnation()).heartbeatInterval();
        measures.heartbeats.record(System.nanoTime() - start);
        renewedNanos = start;
        return spread(pause);
    }

    private Duration awaitEvents() throws CoordinatorException {
        if (!registered) {
            return RETRY;
        }
        try {
            EventBatch batch = coordinator.events(index, missed ? Duration.ZERO : spread(WAIT), id, links.watched());
            index = batch.index();
            if (missed || batch.resync()) {
                missed = false;
                links.resync();
                hostingStale.set(true);
            } else {
                batch.events().forEach(this::received);
            }
            followsEvents = true;
            work.wake();
            return Duration.ZERO;
        } catch (CoordinatorException e) {
            measures.refused.incrementAndGet();
            missed = true;
            throw e;
        }
    }

    private void received(Event event) {
        watch.received(id, event);
        switch (event.kind()) {
            case NODE_REGISTERED, NODE_CHANGED, NODE_FAILED, NODE_REVIVED, NODE_REMOVED ->
                event.node().ifPresent(links::nodeChanged);
            case ENDPOINT_PUBLISHED, ENDPOINT_WITHDRAWN -> {
                if (isThis(event.peer())) {
                    event.node().ifPresent(links::offerChanged);
                }
            }
            case SPACE_DELETING,
                    SPACE_DELETED,
                    EXTENTS_LOST,
                    HOMES_CHANGED,
                    SPACE_ALLOWED,
                    SPACE_CREATED,
                    SPACE_TORN,
                    SPACE_SEALED,
                    SNAPSHOT_MADE -> hostingStale.set(true);
            case ATTACHMENTS_CHANGED, RELEASES_PENDING, FENCES_CHANGED -> {
                if (isThis(event.node())) {
                    hostingStale.set(true);
                }
            }
            default -> {}
        }
    }

    private boolean isThis(Optional<String> node) {
        return node.filter(id::equals).isPresent();
    }

    private Duration step() throws CoordinatorException {
        try {
            links.refresh();
            long now = System.nanoTime();
            if (hostingStale.getAndSet(false) || now - hostingNanos > HOSTING_REFRESH.toNanos()) {
                hostingNanos = now;
                Hosted hosted = coordinator.hosted(id);
                coordinator.acknowledgeHosted(
                        id, new HostedAck(registration.incarnation(), hosted.revision(), List.of(), List.of()));
                attachedMark = coordinator.attached(id, attachedMark).mark();
            }
            return spread(HOSTING_REFRESH);
        } catch (CoordinatorException e) {
            measures.refused.incrementAndGet();
            hostingStale.set(true);
            throw e;
        }
    }

    /** Agents of different hosts do not act in step. */
    private static Duration spread(Duration pause) {
        return Duration.ofMillis(ThreadLocalRandom.current().nextLong(pause.toMillis() * 3 / 4, pause.toMillis()));
    }

    @Override
    public void close() {
        coordinator.close();
        membership.closeNow();
        events.closeNow();
        work.closeNow();
        figures.closeNow();
    }
}
