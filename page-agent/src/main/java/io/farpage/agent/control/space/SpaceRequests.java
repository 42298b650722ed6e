package io.farpage.agent.control.space;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NewAttachment;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.WriterRequest;
import java.util.List;
import java.util.Optional;

/** What this node asks the coordinator about the spaces that it works with. Thread-safe. */
class SpaceRequests {
    /** What this agent does with spaces that have it. A new feature is added with the code that understands it. */
    private static final List<String> UNDERSTOOD = List.of(
            Feature.ENCRYPTION.word(),
            Feature.REPLICAS.word(),
            Feature.PRESENCE.word(),
            Feature.CLONES.word(),
            Feature.THIN.word(),
            Feature.CLONE_PAGES.word(),
            Feature.COHERENT.word());

    private final CoordinatorClient coordinator;
    private final String node;
    private final Incarnation incarnation;

    SpaceRequests(CoordinatorClient coordinator, String node, Incarnation incarnation) {
        this.coordinator = coordinator;
        this.node = node;
        this.incarnation = incarnation;
    }

    /** This node. */
    final String node() {
        return node;
    }

    /** The incarnation of this agent. */
    final Incarnation incarnation() {
        return incarnation;
    }

    /** As {@link CoordinatorClient#attached}. */
    Attached attached(long since) throws CoordinatorException {
        return coordinator.attached(node, since);
    }

    /** The epoch of the coordinator that gave the last answer. */
    Optional<Epoch> epoch() {
        return coordinator.allegiance().status().seen().map(Seen::epoch);
    }

    /** A space by id or name, if there is one. */
    Optional<Space> space(String nameOrId) throws CoordinatorException {
        return coordinator.space(nameOrId);
    }

    /** All spaces. */
    List<Space> spaces() throws CoordinatorException {
        return coordinator.spaces();
    }

    /** Attaches this node, or confirms that it is attached. */
    Attachment attach(long id, AttachMode mode, Claim claim) throws CoordinatorException {
        return coordinator.attach(Long.toString(id), node, request(mode, claim));
    }

    /** As {@link #attach}; answers also where the pages live, unless the coordinator is of an earlier build. */
    NewAttachment attachAndRead(long id, AttachMode mode, Claim claim) throws CoordinatorException {
        return coordinator.attachAndRead(Long.toString(id), node, request(mode, claim));
    }

    /** Makes a clone of a snapshot and attaches this node to it alone. */
    NewAttachment attachClone(String snapshot, String clone) throws CoordinatorException {
        return coordinator.attachClone(snapshot, clone, node, request(AttachMode.EXCLUSIVE, Claim.PLAIN));
    }

    private AttachRequest request(AttachMode mode, Claim claim) {
        AttachRequest request = new AttachRequest(
                incarnation, mode, claim.force() ? Optional.of(true) : Optional.empty(), Optional.of(UNDERSTOOD));
        return claim.takeover() ? request.withTakeover() : request;
    }

    /** Confirms that this node is attached beside others, and says that it writes. */
    void attachToWrite(long id) throws CoordinatorException {
        AttachRequest request =
                new AttachRequest(incarnation, AttachMode.SHARED, Optional.empty(), Optional.of(UNDERSTOOD));
        coordinator.attach(Long.toString(id), node, request.withWrites());
    }

    /** Transfers the attachment of an earlier incarnation of this node to this one. */
    Attachment adopt(long id, AttachMode mode, Incarnation earlier) throws CoordinatorException {
        AttachRequest request = new AttachRequest(incarnation, mode, Optional.empty(), Optional.of(UNDERSTOOD));
        return coordinator.attach(Long.toString(id), node, request.withAdopted(earlier));
    }

    /** Where the pages of a space live; empty if there is no such space. */
    Optional<SpaceExtents> extents(long id) throws CoordinatorException {
        return coordinator.extents(Long.toString(id));
    }

    /** Detaches this node. Nothing happens if the space is gone. */
    void detach(long id, Detachment how) throws CoordinatorException {
        try {
            coordinator.detach(Long.toString(id), node, incarnation, how);
        } catch (CoordinatorRefusedException e) {
            if (!e.isNotFound()) {
                throw e;
            }
        }
    }

    /** Drops a home from extents. Answers the extents as they are then, as the following ones do. */
    SpaceExtents drop(long id, String home, Incarnation homeIncarnation, List<ExtentEpoch> extents)
            throws CoordinatorException {
        return coordinator.drop(Long.toString(id), node, new DropRequest(incarnation, home, homeIncarnation, extents));
    }

    /** Nothing is under way to homes that were dropped. */
    SpaceExtents acknowledgeDrops(long id, List<ExtentEpoch> extents) throws CoordinatorException {
        return coordinator.acknowledgeDrops(Long.toString(id), node, new WriterRequest(incarnation, extents));
    }

    /** Asks for room for extents that this node is about to write to. */
    SpaceExtents allocate(long id, List<ExtentEpoch> extents) throws CoordinatorException {
        return coordinator.allocate(Long.toString(id), node, new WriterRequest(incarnation, extents));
    }

    /** Gives the room of extents back whose pages are all zeros. */
    SpaceExtents deallocate(long id, List<ExtentEpoch> extents) throws CoordinatorException {
        return coordinator.deallocate(Long.toString(id), node, new WriterRequest(incarnation, extents));
    }

    /** As {@link CoordinatorClient#makeSnapshot(String, String, SnapshotRequest)}. */
    Space makeSnapshot(long id, SnapshotRequest request) throws CoordinatorException {
        return coordinator.makeSnapshot(Long.toString(id), node, request);
    }

    /** The homes that join extents may pull the pages. */
    SpaceExtents allowPulls(long id, List<ExtentEpoch> extents) throws CoordinatorException {
        return coordinator.allowPulls(Long.toString(id), node, new WriterRequest(incarnation, extents));
    }

    /** All pages of extents are at the homes that join them. */
    SpaceExtents promote(long id, List<ExtentEpoch> extents) throws CoordinatorException {
        return coordinator.promote(Long.toString(id), node, new WriterRequest(incarnation, extents));
    }
}
