package io.farpage.coordinator.cluster;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Drops homes from extents that have several. The node that has the space exclusively is its only writer: it finds a
 * home that does not take its WRITEs and asks for the drop, a compare-and-swap on the extent's epoch. The last home is
 * never dropped. WRITEs may be under way to the dropped home, so its frames stay reserved until the writer has
 * acknowledged the epoch, has detached or was cut off. Thread-safe.
 */
public final class Drops {

    private final Ledger ledger;

    /** Works on a ledger. */
    public Drops(Ledger ledger) {
        this.ledger = ledger;
    }

    /** Drops a home from extents, of all or of none. */
    public void drop(String idOrName, String node, DropRequest request) {
        ledger.change(draft -> {
            Space space = requireWriter(draft, idOrName, node, request.incarnation());
            requireRunning(draft, node);
            draft.extents.change(
                    space, request.extents(), extent -> List.of(new ExtentCommand.Drop(home(extent, space, request))));
            return space;
        });
    }

    /** Refuses a node whose own lease has run out: its homes may have given it up, rather than have failed. */
    private static void requireRunning(Draft draft, String node) {
        if (draft.isFailed(node)) {
            throw ProblemException.conflict(
                    "lease-expired",
                    ("the lease of node '%s' has run out, so what it says of other nodes does not count; renew the"
                                    + " lease, then say it again if it still holds")
                            .formatted(node));
        }
    }

    private static ExtentHome home(Extent extent, Space space, DropRequest request) {
        ExtentHome home = extent.targets()
                .filter(each ->
                        each.node().equals(request.home()) && each.incarnation().equals(request.homeIncarnation()))
                .findFirst()
                .orElseThrow(() -> ProblemException.conflict(
                        "no-such-home",
                        "incarnation %s of node '%s' is not a home of the extent at page %d of space '%s'"
                                .formatted(
                                        request.homeIncarnation(), request.home(), extent.firstPage(), space.name())));
        boolean joins = extent.joining().filter(home::equals).isPresent();
        if (!joins && (extent.homes().size() == 1 || extent.state() == ExtentState.LOST)) {
            throw ProblemException.conflict(
                    "last-home",
                    ("node '%s' is the last home of the extent at page %d of space '%s', and is never dropped; bring it"
                                    + " back, or give its memory up: DELETE /api/v1/nodes/%s with force=true")
                            .formatted(request.home(), extent.firstPage(), space.name(), request.home()));
        }
        return home;
    }

    /**
     * Drops all homes but one from each extent of a torn space that a node uses as it is. Its last writer may have
     * written a page to one home and not to the other, and a page must not be read from both. Repairs copy the one that
     * is kept: a home whose lease runs, if there is one. The directories of a coherent space with members know better.
     */
    static void keepOne(Draft draft, Space space) {
        draft.extents.change(
                space,
                extent -> extent.state() == ExtentState.LOST || !extent.isAllocated()
                        ? List.of()
                        : dropAllBut(kept(draft, extent), extent));
    }

    private static ExtentHome kept(Draft draft, Extent extent) {
        return Collections.min(extent.homes(), Comparator.comparing(home -> draft.isFailed(home.node())));
    }

    private static List<ExtentCommand> dropAllBut(ExtentHome kept, Extent extent) {
        return extent.homes().stream()
                .filter(home -> !home.equals(kept))
                .<ExtentCommand>map(ExtentCommand.Drop::new)
                .toList();
    }

    /**
     * The writer has nothing under way to the homes that were dropped up to an epoch: their frames are zeroed, and then
     * free.
     */
    public void acknowledge(String idOrName, String node, WriterRequest ack) {
        ledger.change(draft -> {
            Space space = requireWriter(draft, idOrName, node, ack.incarnation());
            Map<Long, Long> epochs = ack.extents().stream()
                    .collect(Collectors.toMap(ExtentEpoch::firstPage, ExtentEpoch::epoch, Math::max));
            draft.extents.change(
                    space,
                    extent -> Optional.ofNullable(epochs.get(extent.firstPage())).stream()
                            .<ExtentCommand>map(ExtentCommand.GiveBack::new)
                            .toList());
            return space;
        });
    }

    /**
     * The only node that could write to the dropped homes of a space, and copy pages to joining ones, has detached or
     * was cut off.
     */
    static void writerGone(Draft draft, Space space) {
        if (draft.attachedTo(space).isEmpty()) {
            draft.extents.change(space, Drops::endAll);
        }
    }

    /** Ends what joins an extent or was filled for it, and gives the frames of dropped homes back. */
    static List<ExtentCommand> endAll(Extent extent) {
        Stream<ExtentCommand> drop = Stream.concat(extent.joining().stream(), extent.filledPools().stream())
                .map(ExtentCommand.Drop::new);
        return Stream.concat(drop, Stream.of(ExtentCommand.GiveBack.ALL)).toList();
    }

    /** Has the frames of all dropped homes zeroed, of a space that no node can write to. */
    static void giveBackAll(Draft draft, Space space) {
        draft.extents.change(space, _ -> List.of(ExtentCommand.GiveBack.ALL));
    }

    /** Refuses a node that is not attached to a space exclusively, or that homes must cut off. */
    static Space requireWriter(Draft draft, String idOrName, String node, Incarnation incarnation) {
        Coherence.checkKept(draft.requireSpace(idOrName), "its homes stay, and no snapshot is made of it");
        return require(
                draft,
                idOrName,
                node,
                incarnation,
                EnumSet.of(AttachMode.EXCLUSIVE),
                "exclusively, and only the writer of a space changes homes");
    }

    /** Refuses a node that is not attached to a space, or that homes must cut off. */
    static Space requireAttached(Draft draft, String idOrName, String node, Incarnation incarnation) {
        return require(
                draft,
                idOrName,
                node,
                incarnation,
                EnumSet.allOf(AttachMode.class),
                "by this incarnation; attach it first");
    }

    private static Space require(
            Draft draft, String idOrName, String node, Incarnation incarnation, Set<AttachMode> modes, String how) {
        Space space = draft.requireSpace(idOrName);
        draft.requireNode(node, incarnation);
        Attachment attachment = draft.attachments
                .find(Keys.attachment(space.id(), node))
                .filter(held -> held.incarnation().equals(incarnation) && modes.contains(held.mode()))
                .orElseThrow(() -> ProblemException.conflict(
                        "not-attached", "node '%s' has space '%s' not attached %s".formatted(node, space.name(), how)));
        List<String> awaited = Fences.awaited(draft, space, attachment);
        if (!awaited.isEmpty()) {
            throw ProblemException.conflict(
                    "fencing",
                    "node '%s' is being cut off from space '%s' by %s"
                            .formatted(node, space.name(), Fences.names(awaited)));
        }
        return space;
    }
}
