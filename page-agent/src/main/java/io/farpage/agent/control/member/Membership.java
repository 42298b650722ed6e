package io.farpage.agent.control.member;

import io.farpage.agent.control.ControlThread;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorNotObeyedException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Seen;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Registers the node and renews its lease until the coordinator ends this incarnation. */
public final class Membership implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Membership.class);
    private static final Duration RETRY = Duration.ofMillis(500);
    /** Until the first heartbeat, which tells the interval. The registration has begun the lease. */
    private static final Duration FIRST_HEARTBEAT = Duration.ofMillis(50);

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final CoordinatorClient coordinator;
    private final String node;
    private volatile Registration registration;
    private final Consumer<Ending> ended;
    private final ControlThread thread;
    private volatile boolean registered;
    private volatile boolean everRegistered;
    private Optional<Epoch> registeredIn = Optional.empty();
    private volatile boolean isOver;
    private volatile boolean poolIsVoid;
    private final Disobedience disobedience;
    private boolean away;
    private String lastRefusal = "";

    /**
     * @param registration the description of this node
     * @param ended called when this incarnation must end; the coordinator gets no more requests then
     */
    public Membership(CoordinatorClient coordinator, String node, Registration registration, Consumer<Ending> ended) {
        this.coordinator = coordinator;
        this.node = node;
        this.registration = registration;
        this.ended = ended;
        this.disobedience = new Disobedience(coordinator, node);
        thread = new ControlThread(
                "membership", new ControlThread.Pauses(Duration.ZERO, RETRY, CLOSE_TIMEOUT), this::renew);
    }

    public void start() {
        thread.start();
    }

    /**
     * Whether the coordinator answered the last call and knows this incarnation. From then on the homes cut off the
     * incarnation before.
     */
    public boolean isRegistered() {
        return registered;
    }

    private Duration renew() throws CoordinatorException {
        if (isOver) {
            return ControlThread.UNTIL_WOKEN;
        }
        try {
            disobedience.probe();
            Duration pause = registered ? heartbeat() : register();
            if (away) {
                log.info("coordinator {} is back", coordinator.base());
                away = false;
            }
            return pause;
        } catch (CoordinatorUnreachableException e) {
            if (!away) {
                log.warn("coordinator is away, trying every {} ms: {}", RETRY.toMillis(), e.getMessage());
                away = true;
            }
            return RETRY;
        } catch (CoordinatorNotObeyedException e) {
            registered = false;
            disobedience.refused(e);
            return RETRY;
        } catch (CoordinatorRefusedException e) {
            return refused(e);
        }
    }

    /** Whether the coordinator has ended this incarnation. */
    public boolean isOver() {
        return isOver;
    }

    /** Whether the coordinator counts the pages in this node's pool as lost: it has taken the node out. */
    public boolean isPoolVoid() {
        return poolIsVoid;
    }

    private Duration register() throws CoordinatorException {
        coordinator.register(node, registration.withStatus(NodeStatus.ACTIVE));
        if (!everRegistered) {
            coordinator.allegiance().join();
        }
        registered = true;
        registeredIn = epoch();
        everRegistered = true;
        lastRefusal = "";
        log.info("registered with {} as {} incarnation {}", coordinator.base(), node, registration.incarnation());
        return FIRST_HEARTBEAT;
    }

    private Optional<Epoch> epoch() {
        return coordinator.allegiance().status().seen().map(Seen::epoch);
    }

    private Duration heartbeat() throws CoordinatorException {
        Lease lease = coordinator.heartbeat(node, registration.incarnation());
        if (!epoch().equals(registeredIn)) {
            // The coordinator was started again, perhaps with a store that is older than this registration.
            return register();
        }
        return Spread.of(lease.heartbeatInterval());
    }

    private Duration refused(CoordinatorRefusedException e) {
        if (e.isPoolRetired()) {
            end(new Ending.Forgotten("the pages in the pool that was kept are lost: " + e.getMessage()));
            return RETRY;
        }
        if (e.isStaleIncarnation()) {
            end(new Ending.Superseded("another agent has registered as " + node + ": " + e.getMessage()));
            return RETRY;
        }
        if (everRegistered && e.isNotFound()) {
            end(new Ending.Forgotten("the coordinator no longer knows " + node));
            return RETRY;
        }
        String refusal = String.valueOf(e.getMessage());
        if (!refusal.equals(lastRefusal)) {
            log.error("the coordinator refuses this node, trying every {} ms: {}", RETRY.toMillis(), refusal);
            lastRefusal = refusal;
        }
        registered = false;
        return RETRY;
    }

    private void end(Ending how) {
        isOver = true;
        poolIsVoid = how instanceof Ending.Forgotten;
        registered = false;
        ended.accept(how);
    }

    /** The node's registration has changed, for instance because a device was added or removed. Any thread. */
    public void update(Registration newRegistration) {
        registration = newRegistration;
        registered = false;
        thread.wake();
    }

    /** Marks this node as draining, so that it gets no more extents. Does nothing if the coordinator is away. */
    public void leave() {
        if (isOver) {
            return;
        }
        try {
            coordinator.register(node, registration.withStatus(NodeStatus.LEAVING));
        } catch (CoordinatorException e) {
            log.warn("could not tell the coordinator that this node leaves: {}", e.getMessage());
        }
    }

    /** Stops renewing the lease and deregisters the node. Closing twice does nothing. */
    @Override
    public void close() {
        thread.close();
        if (everRegistered && !isOver) {
            isOver = true;
            try {
                // The pool ends with this process, with all that it holds.
                coordinator.deregister(node, registration.incarnation(), true);
                poolIsVoid = true;
                log.info("deregistered");
            } catch (CoordinatorException e) {
                log.warn("could not deregister, the lease will run out instead: {}", e.getMessage());
            }
        }
    }
}
