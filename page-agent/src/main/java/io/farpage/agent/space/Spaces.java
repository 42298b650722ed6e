package io.farpage.agent.space;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The spaces that this agent is attached to, by name. It attaches before it learns where pages live and detaches only when nobody here
 * uses that knowledge any more, so it never writes into room that was given to another space. Thread-safe.
 */
public final class Spaces implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Spaces.class);
    private static final long LOOK_AGAIN_SECONDS = 5;

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;
    private final Map<String, AttachedSpace> attached = new ConcurrentHashMap<>();
    private final Semaphore signal = new Semaphore(0);
    private final Thread thread = Thread.ofVirtual().name("spaces").unstarted(this::run);
    private volatile boolean stale;
    private volatile boolean stopping;

    public Spaces(CoordinatorClient coordinator, String node, Incarnation incarnation) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
    }

    public void start() {
        thread.start();
    }

    /**
     * Takes a space into use, attaching to it first if need be. Works without the coordinator for a space that is attached already.
     *
     * @return what to close after use; empty if there is no such space, or it is being deleted
     * @throws SpaceInUseException if it is used alone
     */
    public Optional<SpaceUse> use(String name) throws CoordinatorException {
        AttachedSpace known = attached.get(name);
        if (known == null || known.isUnused()) {
            Optional<AttachedSpace> fresh = attach(name, AttachMode.SHARED);
            if (fresh.isEmpty()) {
                return Optional.empty();
            }
            known = fresh.get();
        }
        if (known.enter()) {
            return Optional.of(new SpaceUse(known, this));
        }
        if (known.isAlone()) {
            throw new SpaceInUseException("space '" + name + "' is the memory of a guest on this node; end that first");
        }
        return Optional.empty();
    }

    /**
     * Takes a space into use as the only one in the cluster.
     *
     * @return what to close after use; empty if there is no such space, or it is being deleted
     * @throws SpaceInUseException if somebody on this node uses it
     * @throws CoordinatorException also if another node is attached to it
     */
    public Optional<SpaceUse> useAlone(String name) throws CoordinatorException {
        Optional<AttachedSpace> space = attach(name, AttachMode.EXCLUSIVE);
        if (space.isEmpty()) {
            return Optional.empty();
        }
        if (!space.get().enterAlone()) {
            throw new SpaceInUseException("space '" + name + "' is in use on this node; try again when it is not");
        }
        return Optional.of(new SpaceUse(space.get(), this));
    }

    private synchronized Optional<AttachedSpace> attach(String name, AttachMode mode) throws CoordinatorException {
        AttachedSpace raced = attached.get(name);
        if (raced != null && raced.isUnused()) {
            detach(raced);
            raced = null;
        }
        if (raced != null && mode == AttachMode.SHARED) {
            return Optional.of(raced);
        }
        try {
            coordinator.attach(name, node, new AttachRequest(incarnation, mode));
        } catch (CoordinatorRefusedException e) {
            if (e.isNotFound()) {
                return Optional.empty();
            }
            throw e;
        }
        if (raced != null) {
            return Optional.of(raced);
        }
        Optional<AttachedSpace> space =
                coordinator.extents(name).map(SpaceMap::of).map(AttachedSpace::new);
        space.ifPresent(s -> attached.put(name, s));
        return space;
    }

    /** A space is to be deleted: lets go of it when its last use ends. Any thread. */
    public void letGo(String name) {
        AttachedSpace space = attached.get(name);
        if (space != null) {
            space.leave();
            signal.release();
        }
    }

    /** Where the pages of a space live changed. Any thread. */
    public void changed(String name) {
        AttachedSpace space = attached.get(name);
        if (space != null) {
            space.stale();
            signal.release();
        }
    }

    /** News were missed: everything is to be looked up again. Any thread. */
    public void resync() {
        stale = true;
        signal.release();
    }

    void useEnded() {
        signal.release();
    }

    private void run() {
        while (!stopping) {
            try {
                if (signal.tryAcquire(LOOK_AGAIN_SECONDS, TimeUnit.SECONDS)) {
                    signal.drainPermits();
                }
                if (stale) {
                    stale = false;
                    lookAgain();
                }
                for (AttachedSpace space : List.copyOf(attached.values())) {
                    if (space.takeStale()) {
                        coordinator.extents(space.name()).map(SpaceMap::of).ifPresent(space::map);
                    }
                    if (space.isUnused()) {
                        detach(space);
                    }
                }
            } catch (CoordinatorException e) {
                stale = true;
                log.debug("spaces: {}", e.toString());
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private void lookAgain() throws CoordinatorException {
        for (AttachedSpace space : List.copyOf(attached.values())) {
            Optional<SpaceExtents> now = coordinator.extents(space.name());
            Optional<Space> same = now.map(SpaceExtents::space)
                    .filter(s -> s.id() == space.map().id());
            if (same.isEmpty() || same.get().deleting()) {
                space.leave();
            } else {
                // A coordinator that lost its memory has forgotten who is attached, too.
                AttachMode mode = space.isAlone() ? AttachMode.EXCLUSIVE : AttachMode.SHARED;
                coordinator.attach(space.name(), node, new AttachRequest(incarnation, mode));
                now.map(SpaceMap::of).ifPresent(space::map);
            }
        }
    }

    private synchronized void detach(AttachedSpace space) throws CoordinatorException {
        if (attached.get(space.name()) != space) {
            return; // by whoever wanted to attach to it anew
        }
        try {
            coordinator.detach(Long.toString(space.map().id()), node, incarnation);
        } catch (CoordinatorRefusedException e) {
            if (!e.isNotFound()) {
                throw e;
            }
        }
        attached.remove(space.name(), space);
        log.info("detached from space {}", space.name());
    }

    /** Stops looking. Deregistering the node, which follows, ends all its attachments. */
    @Override
    public void close() {
        stopping = true;
        signal.release();
        try {
            if (thread.getState() != Thread.State.NEW) {
                thread.join();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
