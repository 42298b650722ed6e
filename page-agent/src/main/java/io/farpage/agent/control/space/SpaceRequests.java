package io.farpage.agent.control.space;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.List;
import java.util.Optional;

/** What this node asks the coordinator of spaces by their id. Thread-safe. */
final class SpaceRequests {
    /** What this agent does with spaces that have it. A new feature is added with the code that understands it. */
    private static final List<String> UNDERSTOOD = List.of(Feature.ENCRYPTION.word(), Feature.REPLICAS.word());

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;

    SpaceRequests(CoordinatorClient coordinator, String node, Incarnation incarnation) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
    }

    /** Attaches this node, or confirms that it is attached. */
    void attach(long id, AttachMode mode, Claim claim) throws CoordinatorException {
        AttachRequest request = new AttachRequest(
                incarnation, mode, claim.force() ? Optional.of(true) : Optional.empty(), Optional.of(UNDERSTOOD));
        coordinator.attach(Long.toString(id), node, claim.takeover() ? request.withTakeover() : request);
    }

    /** Has the exclusive attachment of an earlier incarnation of this node pass to this one. */
    void adopt(long id, Incarnation earlier) throws CoordinatorException {
        AttachRequest request =
                new AttachRequest(incarnation, AttachMode.EXCLUSIVE, Optional.empty(), Optional.of(UNDERSTOOD));
        coordinator.attach(Long.toString(id), node, request.withAdopted(earlier));
    }

    /** Where the pages of a space live; empty if there is no such space. */
    Optional<SpaceExtents> extents(long id) throws CoordinatorException {
        return coordinator.extents(Long.toString(id));
    }

    /**
     * Detaches this node. Nothing happens if the space is gone.
     *
     * @param torn why not all pages are at their homes; empty if all are
     * @param seal the mark of the file with the tags of an encrypted space; empty if there is no newer one
     */
    void detach(long id, Optional<String> torn, Optional<String> seal) throws CoordinatorException {
        try {
            coordinator.detach(Long.toString(id), node, incarnation, torn, seal);
        } catch (CoordinatorRefusedException e) {
            if (!e.isNotFound()) {
                throw e;
            }
        }
    }
}
