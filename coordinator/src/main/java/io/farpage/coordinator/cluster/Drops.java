package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.DroppedHome;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

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
            List<Extent> after = new ArrayList<>(extents(draft, space));
            for (ExtentEpoch named : request.extents()) {
                int at = indexOf(after, space, named);
                Extent extent = inEpoch(after.get(at), space, named);
                after.set(at, extent.drop(home(extent, space, request)));
            }
            draft.extents.put(State.idKey(space.id()), new State.Extents(after));
            draft.emit(EventKind.HOMES_CHANGED, Optional.of(request.home()), space);
            return space;
        });
    }

    /** Refuses a node whose own lease has run out: its homes may have given it up, rather than have failed. */
    private static void requireRunning(Draft draft, String node) {
        if (Fences.isFailed(draft, node)) {
            throw ProblemException.conflict(
                    "lease-expired",
                    ("the lease of node '%s' has run out, so what it says of other nodes does not count; renew the"
                                    + " lease, then say it again if it still holds")
                            .formatted(node));
        }
    }

    /** Refuses an extent that is in another epoch than named. */
    static Extent inEpoch(Extent extent, Space space, ExtentEpoch named) {
        if (extent.epochNumber() != named.epoch()) {
            throw ProblemException.conflict(
                    "stale-epoch",
                    "the extent at page %d of space '%s' is in epoch %d, not %d; read the extents again"
                            .formatted(named.firstPage(), space.name(), extent.epochNumber(), named.epoch()));
        }
        return extent;
    }

    private static ExtentHome home(Extent extent, Space space, DropRequest request) {
        ExtentHome home = extent.targets()
                .filter(each ->
                        each.node().equals(request.home()) && each.incarnation().equals(request.homeIncarnation()))
                .findFirst()
                .orElseThrow(() -> ProblemException.conflict(
                        "no-such-home",
                        "incarnation %s of node '%s' is no home of the extent at page %d of space '%s'"
                                .formatted(
                                        request.homeIncarnation(), request.home(), extent.firstPage(), space.name())));
        boolean joins = extent.joining().filter(home::equals).isPresent();
        if (!joins && (extent.homes().size() == 1 || extent.state() == ExtentState.LOST)) {
            throw ProblemException.conflict(
                    "last-home",
                    "node '%s' is the last home of the extent at page %d of space '%s', and is never dropped; bring it back, or give its memory up: DELETE /api/v1/nodes/%s with force=true"
                            .formatted(request.home(), extent.firstPage(), space.name(), request.home()));
        }
        return home;
    }

    /**
     * Drops all homes but one from each extent of a torn space that a node uses as it is. Its last writer may have
     * written a page to one home and not to the other, and a page must not be read from both. Repairs copy the one that
     * is kept: a home whose lease runs, if there is one.
     */
    static void keepOne(Draft draft, Space space) {
        List<Extent> after = new ArrayList<>();
        Set<String> dropped = new LinkedHashSet<>();
        for (Extent extent : extents(draft, space)) {
            Extent left = extent;
            if (extent.state() != ExtentState.LOST) {
                ExtentHome kept = Collections.min(
                        extent.homes(), Comparator.comparing(home -> Fences.isFailed(draft, home.node())));
                for (ExtentHome home : extent.homes()) {
                    if (!home.equals(kept)) {
                        left = left.drop(home);
                        dropped.add(home.node());
                    }
                }
            }
            after.add(left);
        }
        if (!dropped.isEmpty()) {
            draft.extents.put(State.idKey(space.id()), new State.Extents(after));
            dropped.forEach(home -> draft.emit(EventKind.HOMES_CHANGED, Optional.of(home), space));
        }
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
            giveBack(
                    draft,
                    space,
                    extent -> former -> former.epoch() <= epochs.getOrDefault(extent.firstPage(), Long.MIN_VALUE));
            return space;
        });
    }

    /**
     * The only node that could write to the dropped homes of a space, and copy pages to joining ones, has detached or
     * was cut off.
     */
    static void writerGone(Draft draft, Space space) {
        if (Attachments.of(draft, space).isEmpty()) {
            dropJoining(draft, space);
            giveBackAll(draft, space);
        }
    }

    /** Drops the homes that join a space: the node that copied the pages does so no more. */
    private static void dropJoining(Draft draft, Space space) {
        List<Extent> before = extents(draft, space);
        List<Extent> after = before.stream()
                .map(extent -> extent.joining().map(extent::drop).orElse(extent))
                .toList();
        if (!after.equals(before)) {
            draft.extents.put(State.idKey(space.id()), new State.Extents(after));
        }
    }

    /** Has the frames of all dropped homes zeroed, of a space that no node can write to. */
    static void giveBackAll(Draft draft, Space space) {
        giveBack(draft, space, _ -> _ -> true);
    }

    private static void giveBack(Draft draft, Space space, Function<Extent, Predicate<DroppedHome>> which) {
        List<Extent> before = extents(draft, space);
        if (before.stream().allMatch(extent -> extent.droppedHomes().isEmpty())) {
            return;
        }
        Set<String> homes = new LinkedHashSet<>();
        List<Extent> after = new ArrayList<>();
        for (Extent extent : before) {
            Predicate<DroppedHome> free = which.apply(extent);
            extent.droppedHomes().stream()
                    .filter(free)
                    .forEach(former -> Spaces.release(draft, space, extent, former.home(), false)
                            .ifPresent(homes::add));
            after.add(extent.acknowledged(free));
        }
        if (!after.equals(before)) {
            draft.extents.put(State.idKey(space.id()), new State.Extents(after));
            homes.forEach(home -> {
                draft.emit(EventKind.HOMES_CHANGED, Optional.of(home), space);
                draft.emit(EventKind.RELEASES_PENDING, home);
            });
        }
    }

    static List<Extent> extents(Draft draft, Space space) {
        return draft.extents
                .find(State.idKey(space.id()))
                .map(State.Extents::list)
                .orElse(List.of());
    }

    static int indexOf(List<Extent> extents, Space space, ExtentEpoch named) {
        for (int i = 0; i < extents.size(); i++) {
            if (extents.get(i).firstPage() == named.firstPage()) {
                return i;
            }
        }
        throw ProblemException.notFound(
                "space '%s' has no extent that begins at page %d".formatted(space.name(), named.firstPage()));
    }

    /** Refuses a node that is not, or not any more, the only one that writes to a space. */
    static Space requireWriter(Draft draft, String idOrName, String node, Incarnation incarnation) {
        Space space = draft.requireSpace(idOrName);
        draft.requireNode(node, incarnation);
        Attachment attachment = draft.attachments
                .find(Attachments.key(space, node))
                .filter(held -> held.incarnation().equals(incarnation) && held.mode() == AttachMode.EXCLUSIVE)
                .orElseThrow(() -> ProblemException.conflict(
                        "not-attached",
                        "node '%s' has space '%s' not attached exclusively, and only the writer of a space changes homes"
                                .formatted(node, space.name())));
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
