package io.farpage.agent.control.guest;

import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.guest.GuestException.Obstacle;
import io.farpage.agent.control.seal.SealException;
import io.farpage.agent.control.seal.Seals;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.VmmState;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;

/** Creates spaces for guests. Thread-safe. */
final class SpaceCreation {
    private static final Duration DELETION = Duration.ofSeconds(5);
    private static final int FORBIDDEN = 403;
    /** The types of the problems with which the coordinator answers that a node may not, and that a name is taken. */
    private static final String NOT_ALLOWED = "forbidden";

    private static final String NAME_TAKEN = "name-taken";
    private static final Duration DELETION_POLL = Duration.ofMillis(20);

    private final CoordinatorClient coordinator;
    private final String node;
    private final Seals seals;

    SpaceCreation(LocalNode node, Seals seals) {
        this.node = node.id();
        this.seals = seals;
        coordinator = node.coordinator();
    }

    /**
     * A deletion ends only after this node has detached; until then the name belongs to the space that is being
     * deleted.
     */
    void awaitDeletion(String name) throws CoordinatorException, GuestException {
        long start = System.nanoTime();
        while (coordinator.space(name).filter(Space::deleting).isPresent()) {
            if (System.nanoTime() - start > DELETION.toNanos()) {
                throw new GuestException(
                        Obstacle.CONFLICT,
                        "space '%s' is being deleted; try again when its deletion has ended, or choose another name"
                                .formatted(name));
            }
            try {
                Thread.sleep(DELETION_POLL);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new GuestException(
                        Obstacle.CONFLICT, "the wait for the deletion of '" + name + "' was interrupted");
            }
        }
    }

    /** Creates the space of a guest if it does not exist. */
    Optional<Space> createIfAbsent(String name, GuestRequest request) throws CoordinatorException, GuestException {
        if (request.sizeBytes().isEmpty()) {
            return Optional.empty();
        }
        Optional<Space> existing = coordinator.space(name);
        if (existing.isPresent()) {
            long size = existing.get().sizeBytes();
            if (size != request.sizeBytes().getAsLong()) {
                throw new GuestException(
                        Obstacle.CONFLICT,
                        "space '%s' exists and has %d bytes, not %d; leave the size out, or choose another name"
                                .formatted(name, size, request.sizeBytes().getAsLong()));
            }
            int homes = existing.get().copies();
            if (request.replicas().orElse(homes) != homes) {
                throw new GuestException(
                        Obstacle.CONFLICT,
                        ("space '%s' exists and has %d homes for each page, not %d; leave the replicas out, or choose"
                                        + " another name")
                                .formatted(name, homes, request.replicas().getAsInt()));
            }
            return Optional.empty();
        }
        return Optional.of(create(new NewSpace(
                name,
                request.sizeBytes().getAsLong(),
                request.pageSize(),
                request.homes(),
                request.replicas(),
                request.encrypted(),
                request.keyId(),
                request.thin(),
                Optional.empty(),
                Optional.empty())));
    }

    /**
     * After a clone was refused that would have been made and attached in one request: makes it, if the coordinator is
     * of an earlier build, which knows no such request. Nothing is done if there is a space of that name.
     */
    void cloneByItself(String snapshot, String name, CoordinatorRefusedException refusal)
            throws CoordinatorException, GuestException {
        if (refusal.isNotFound() && coordinator.space(snapshot).isPresent()) {
            coordinator.makeClone(snapshot, new CloneRequest(name));
        } else if (refusal.problem().is(NOT_ALLOWED)) {
            throw new GuestException(
                    Obstacle.FORBIDDEN,
                    "%s; an operator makes it: coordinator space clone %s --name %s"
                            .formatted(refusal.getMessage(), snapshot, name));
        } else if (!refusal.problem().is(NAME_TAKEN)) {
            throw refusal;
        }
    }

    /** Refuses a space that is not a clone of a snapshot. */
    void requireCloneOf(String snapshot, long id) throws CoordinatorException, GuestException {
        Optional<Space> of = coordinator.space(snapshot);
        Optional<Space> clone = coordinator.space(Long.toString(id));
        if (of.isEmpty()) {
            throw new GuestException(Obstacle.NOT_FOUND, "there is no snapshot '" + snapshot + "'");
        }
        if (clone.isPresent()
                && !clone.get().base().equals(OptionalLong.of(of.get().id()))) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "space '%s' exists and is not a clone of '%s'; leave cloneOf out, or choose another name"
                            .formatted(clone.get().name(), snapshot));
        }
    }

    /** Creates a space. */
    Space create(NewSpace space) throws CoordinatorException, GuestException {
        return create(space, request -> request);
    }

    /** Creates a space that is a snapshot when it is loaded: of the memory of a machine, or the state of its VMM. */
    Space createToLoad(NewSpace space, Optional<VmmState> file) throws CoordinatorException, GuestException {
        return create(space, request -> request.asLoading(file));
    }

    private Space create(NewSpace space, UnaryOperator<SpaceRequest> how) throws CoordinatorException, GuestException {
        try {
            SpaceRequest request = new SpaceRequest(
                    space.name(),
                    space.sizeBytes(),
                    space.pageSize(),
                    homes(space),
                    keyId(space),
                    space.nodes(),
                    space.replicas());
            request = space.thin().orElse(false) ? request.asThin() : request;
            request = space.coherent().orElse(false) ? request.asCoherent() : request;
            return create(how.apply(request));
        } catch (IllegalArgumentException e) {
            throw new GuestException(Obstacle.INVALID, String.valueOf(e.getMessage()));
        } catch (SealException e) {
            throw new GuestException(Obstacle.CONFLICT, String.valueOf(e.getMessage()));
        }
    }

    private Space create(SpaceRequest request) throws CoordinatorException, GuestException {
        try {
            return coordinator.createSpace(request);
        } catch (CoordinatorRefusedException e) {
            if (e.problem().status() == FORBIDDEN) {
                throw new GuestException(
                        Obstacle.FORBIDDEN,
                        "%s; an operator creates it: %s".formatted(e.getMessage(), command(request)));
            }
            throw e;
        }
    }

    /** What an operator runs to create a space that this agent may not create. */
    private static String command(SpaceRequest request) {
        StringBuilder text = new StringBuilder("coordinator space create %s --size %d --page-size %d"
                .formatted(
                        request.name(), request.sizeBytes(), request.pageSize().orElseThrow()));
        request.homes().ifPresent(homes -> text.append(" --home ").append(String.join(",", homes)));
        request.nodes().ifPresent(nodes -> text.append(" --nodes ").append(String.join(",", nodes)));
        request.replicas().ifPresent(copies -> text.append(" --replicas ").append(copies));
        request.thin().ifPresent(_ -> text.append(" --thin"));
        request.coherent().ifPresent(_ -> text.append(" --coherent"));
        request.keyId().ifPresent(key -> text.append(" --key-id ").append(key));
        return text.toString();
    }

    private Optional<String> keyId(NewSpace space) throws SealException {
        if (space.encrypted().orElse(false)) {
            return Optional.of(seals.keyId(space.keyId()));
        }
        if (space.keyId().isPresent()) {
            throw new IllegalArgumentException(
                    "keyId: the space is not to be encrypted; say encrypted: true (--encrypted)");
        }
        return Optional.empty();
    }

    /**
     * Homes for a new space: the other active nodes; this node if it is the only one. Those of a thin one come later.
     */
    private Optional<List<String>> homes(NewSpace space) throws CoordinatorException {
        if (space.homes().isPresent() || space.thin().orElse(false)) {
            return space.homes();
        }
        List<String> others = coordinator.nodes().stream()
                .filter(n -> n.status() == NodeStatus.ACTIVE)
                .map(Node::id)
                .filter(id -> !id.equals(node))
                .toList();
        return others.isEmpty() ? Optional.empty() : Optional.of(others);
    }
}
