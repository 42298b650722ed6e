package io.farpage.coordinator.rebuild;

import static io.farpage.coordinator.rebuild.Reports.CLUSTER;
import static io.farpage.coordinator.rebuild.Reports.INDEX;
import static io.farpage.coordinator.rebuild.Reports.PAGE;
import static io.farpage.coordinator.rebuild.Reports.REVISION;
import static io.farpage.coordinator.rebuild.Reports.asOf;
import static io.farpage.coordinator.rebuild.Reports.attached;
import static io.farpage.coordinator.rebuild.Reports.held;
import static io.farpage.coordinator.rebuild.Reports.home;
import static io.farpage.coordinator.rebuild.Reports.hosted;
import static io.farpage.coordinator.rebuild.Reports.onBandC;
import static io.farpage.coordinator.rebuild.Reports.refusal;
import static io.farpage.coordinator.rebuild.Reports.registration;
import static io.farpage.coordinator.rebuild.Reports.report;
import static io.farpage.coordinator.rebuild.Reports.seen;
import static io.farpage.coordinator.rebuild.Reports.space;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.Keys;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.extent.ExtentLife;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.DroppedHome;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reports that are merged into a real store. */
class RebuildTest {

    private final Store store;
    private final Path directory;

    RebuildTest(@TempDir Path directory) {
        this.directory = directory;
        this.store = MvStore.open(directory.resolve("store"));
    }

    @AfterEach
    void close() {
        store.close();
    }

    private State state() {
        return new Ledger(store, 10, nanos -> {}).state();
    }

    @Test
    void shouldRestoreStateAndLineageWhenAllExpectedNodesReported() {
        Rebuild rebuild = new Rebuild(store, Set.of("a", "b"));
        SpaceExtents vm = space(5, "vm", "b", 0, 8);
        rebuild.report("b", report("b", List.of(vm)));
        assertFalse(rebuild.isFinished());
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, vm));
        assertTrue(rebuild.isFinished());

        State state = state();
        assertEquals(Set.of("a", "b"), state.nodes().keySet());
        assertEquals(vm.extents(), state.extentsOf(state.space("vm").orElseThrow()));
        assertEquals(1, state.attachments().size());
        assertTrue(state.nextId() > 5 + 100);
        assertTrue(state.index() > INDEX);
        Lineage lineage = Lineage.begin(store);
        assertEquals(CLUSTER, lineage.cluster().toString());
        assertEquals(8, lineage.epoch().number());
        assertTrue(lineage.stamp(0).start() >= 120);
        lineage.require(Seen.parse(seen(120)), true);
    }

    @Test
    void shouldKnowASpaceWhoseHomeLagsFromTheNodeThatIsAttached() {
        Rebuild rebuild = new Rebuild(store, Set.of("a", "b"));
        rebuild.report("b", report("b", List.of()));
        rebuild.report("a", attached("a", AttachMode.SHARED, asOf(110, space(5, "vm", "b", 0, 8))));
        assertTrue(state().space("vm").isPresent());
    }

    @Test
    void shouldWaitForTheHomesOfReportedSpacesAndNameThem() {
        Rebuild rebuild = new Rebuild(store, Set.of("a"));
        rebuild.report("a", attached("a", AttachMode.SHARED, space(5, "vm", "b", 0, 8)));
        assertEquals(List.of("b"), rebuild.status().missing());
        assertTrue(refusal(() -> rebuild.finish(Set.of())).contains("not reported yet: b"));
        assertFalse(rebuild.isFinished());
    }

    @Test
    void shouldLoseWhatANodeHeldThatIsGivenUpAndRefuseItsIncarnation() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        SpaceExtents both = space(
                5,
                "vm",
                new Extent(0, 4, List.of(home("b", 0)), ExtentState.OK),
                new Extent(4, 4, List.of(home("c", 0)), ExtentState.OK));
        rebuild.report("b", report("b", List.of(both)));
        rebuild.finish(Set.of("c"));
        State state = state();
        Space vm = state.space("vm").orElseThrow();
        assertEquals(
                List.of(ExtentState.OK, ExtentState.LOST),
                state.extentsOf(vm).stream().map(Extent::state).toList());
        assertTrue(vm.torn().isPresent(), "a guest on c may have used it");
        assertEquals(
                new State.Retired(List.of(new Incarnation(3))), state.retired().get("c"));
    }

    @Test
    void shouldTearACoherentSpaceWhenANodeIsGivenUp() {
        SpaceExtents plain = space(5, "vm", "b", 0, 4);
        SpaceExtents coherent = new SpaceExtents(plain.space().withCoherent(), plain.revision(), plain.extents());
        Rebuild rebuild = new Rebuild(store, Set.of("c"));
        rebuild.report("a", attached("a", AttachMode.MEMBER, coherent));
        rebuild.report("b", report("b", List.of(coherent)));
        rebuild.finish(Set.of("c"));
        State state = state();
        assertTrue(state.space("vm").orElseThrow().torn().isPresent());
        assertEquals(
                AttachMode.MEMBER,
                state.attachments().values().stream().findFirst().orElseThrow().mode());
    }

    @Test
    void shouldTakeTheExtentsOfTheHighestRevisionThatAnyAgentReports() {
        Extent first = new Extent(0, 4, List.of(home("a", 0), home("b", 0)), ExtentState.OK);
        Extent later = dropped(first, home("b", 0));
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of(space(5, "vm", first))));
        rebuild.report("c", attached("c", AttachMode.EXCLUSIVE, asOf(110, space(5, "vm", later))));
        rebuild.report("b", report("b", List.of(space(5, "vm", first))));
        rebuild.finish(Set.of());
        State state = state();
        assertEquals(List.of(later), state.extentsOf(state.space("vm").orElseThrow()));
    }

    @Test
    void shouldRefuseTwoReportsOfOneRevisionThatDiffer() {
        Extent first = new Extent(0, 4, List.of(home("b", 0), home("c", 0)), ExtentState.OK);
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(space(5, "vm", dropped(first, home("b", 0))))));
        assertTrue(refusal(() ->
                        rebuild.report("c", report("c", List.of(space(5, "vm", dropped(first, home("c", 0)))))))
                .contains("space 5"));
    }

    @Test
    void shouldDropAHomeThatIsGivenUpIfAnotherHasThePages() {
        Extent both = new Extent(0, 4, List.of(home("b", 0), home("c", 0)), ExtentState.OK);
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(space(5, "vm", both))));
        rebuild.finish(Set.of("c"));
        State state = state();
        Extent left = state.extentsOf(state.space("vm").orElseThrow()).getFirst();
        assertEquals(ExtentState.OK, left.state());
        assertEquals(List.of(home("b", 0)), left.homes());
        assertEquals(1, left.epochNumber());
    }

    @Test
    void shouldTakeAJoiningHomeForNoSourceOfPages() {
        Extent joining = joined(new Extent(0, 4, List.of(home("a", 0)), ExtentState.OK), home("b", 0));
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of(space(5, "vm", joining))));
        rebuild.report("b", report("b", List.of(space(5, "vm", joining))));
        rebuild.finish(Set.of());
        Extent left = state().extentsOf(state().space("vm").orElseThrow()).getFirst();
        assertEquals(List.of(home("a", 0)), left.homes());
        assertEquals(Optional.empty(), left.joining());
        assertEquals(2, left.epochNumber());
        assertEquals(
                List.of(home("b", 0)),
                left.droppedHomes().stream().map(former -> former.home()).toList(),
                "the writer may have WRITEs under way");
    }

    @Test
    void shouldLoseAnExtentOfWhichOnlyAJoiningHomeIsLeft() {
        Extent joining = joined(new Extent(0, 4, List.of(home("a", 0)), ExtentState.OK), home("b", 0));
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(space(5, "vm", joining))));
        rebuild.finish(Set.of("a"));
        Extent left = state().extentsOf(state().space("vm").orElseThrow()).getFirst();
        assertEquals(ExtentState.LOST, left.state());
    }

    @Test
    void shouldWaitForAHomeThatHasJoinedAndMayHaveBeenPromoted() {
        Extent joining = joined(new Extent(0, 4, List.of(home("a", 0)), ExtentState.OK), home("b", 0));
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of(space(5, "vm", joining))));
        assertTrue(refusal(() -> rebuild.finish(Set.of())).contains("b"));
        rebuild.report("b", report("b", 110, List.of(space(5, "vm", promoted(joining, joining.homes())))));
        rebuild.finish(Set.of());
        Extent left = state().extentsOf(state().space("vm").orElseThrow()).getFirst();
        assertEquals(List.of(home("b", 0)), left.homes());
    }

    /** Two coordinators on copies of one store have given one id twice. */
    @Test
    void shouldRefuseTwoSpacesOfOneId() {
        SpaceExtents first = space(5, "vm", "b", 0, 8);
        Space other = new Space(5, "vm", 8L * PAGE, PAGE, ExtentState.OK, Instant.EPOCH.plusSeconds(1), false);
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(first)));
        assertTrue(refusal(() ->
                        rebuild.report("c", report("c", 110, List.of(new SpaceExtents(other, 110, first.extents())))))
                .contains("space 5"));
    }

    @Test
    void shouldRefuseReportsThatContradictEachOther() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(space(5, "vm", "b", 0, 8), space(6, "other", "b", 8, 8))));
        assertTrue(refusal(() -> rebuild.report("a", attached("a", AttachMode.SHARED, space(5, "vm", "b", 1, 8))))
                .contains("space 5"));
        assertTrue(refusal(() -> rebuild.report("a", attached("a", AttachMode.SHARED, space(9, "over", "b", 4, 8))))
                .contains("both claim"));
        assertTrue(refusal(() -> rebuild.report("a", attached("a", AttachMode.SHARED, space(9, "vm", "b", 20, 8))))
                .contains("both named"));
        assertTrue(refusal(() -> rebuild.report("a", attached("a", AttachMode.SHARED, space(9, "beyond", "b", 60, 8))))
                .contains("exports"));
        assertTrue(refusal(() -> rebuild.finish(Set.of())).contains("exports"));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, space(5, "vm", "b", 0, 8)));
        assertTrue(refusal(() -> rebuild.report("c", attached("c", AttachMode.SHARED, space(5, "vm", "b", 0, 8))))
                .contains("exclusively"));
    }

    /** Home b has zeroed the range and may have given it to another space: pages must not be read from it. */
    @Test
    void shouldLoseAnExtentThatItsOnlyHomeNoLongerHas() {
        for (boolean given : List.of(false, true)) {
            try (Store store = MvStore.open(directory.resolve("store-" + given))) {
                Rebuild rebuild = new Rebuild(store, Set.of());
                rebuild.report("c", report("c", List.of(onBandC())));
                rebuild.report("b", report("b", 110, given ? List.of(space(6, "new", "b", 0, 4)) : List.of()));
                assertEquals(List.of(), rebuild.status().conflicts());
                rebuild.finish(Set.of());
                State state = new Ledger(store, 10, nanos -> {}).state();
                Space vm = state.space("vm").orElseThrow();
                assertEquals(
                        List.of(ExtentState.LOST, ExtentState.OK),
                        state.extentsOf(vm).stream().map(Extent::state).toList());
                assertFalse(
                        state.extentsOf(vm).getFirst().homes().contains(home("b", 0)),
                        "a deletion of the space would have b zero the room");
                assertEquals(given, state.space("new").isPresent());
            }
        }
    }

    @Test
    void shouldKeepAPlaceThatIsYoungerThanTheDocumentOfItsHome() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("c", report("c", 110, List.of(onBandC())));
        rebuild.report("b", report("b", 110, List.of()));
        rebuild.finish(Set.of());
        assertEquals(ExtentState.OK, state().space("vm").orElseThrow().state());
    }

    /** Its DELETE of the attachment was executed, and the answer lost; the home has zeroed the space since. */
    @Test
    void shouldTakeASpaceForDeletedThatNoHomeHasLeft() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, onBandC()));
        rebuild.report("b", report("b", 110, List.of()));
        rebuild.report("c", report("c", 110, List.of()));
        assertEquals(List.of(), rebuild.status().conflicts());
        rebuild.finish(Set.of());
        assertEquals(0, state().spaces().size());
        assertEquals(Map.of(), state().attachments());
    }

    @Test
    void shouldNotBringASpaceBackWhoseRoomWasZeroedNorZeroRoomTwice() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        Release done = new Release(7, 5, new Incarnation(2), 0, 8L * PAGE, true);
        Release pending = new Release(8, 4, new Incarnation(2), 8L * PAGE, 8L * PAGE, true);
        rebuild.report(
                "b", report("b", hosted(100, List.of(space(5, "gone", "b", 0, 8)), List.of(done, pending)), done));
        rebuild.finish(Set.of());
        State state = state();
        assertTrue(state.spaces().isEmpty());
        assertEquals(List.of(pending), List.copyOf(state.releases().values()));
        assertTrue(state.nextId() > 8);
    }

    /** Extents of the space with id 5 in an epoch: on b, and perhaps on c, too, as the node that reports knows. */
    private static SpaceExtents mirrored(long epoch, ExtentHome... homes) {
        return space(5, "vm", extent(epoch, Optional.empty(), homes));
    }

    private static Extent extent(long epoch, Optional<List<DroppedHome>> dropped, ExtentHome... homes) {
        return new Extent(
                0,
                4,
                List.of(homes),
                ExtentState.OK,
                OptionalLong.of(epoch),
                dropped,
                Optional.empty(),
                Optional.empty());
    }

    private static Extent joined(Extent extent, ExtentHome home) {
        return ExtentLife.apply(extent, new ExtentCommand.Join(home, PullState.RUNNING));
    }

    private static Extent promoted(Extent extent, List<ExtentHome> replaced) {
        Extent pulled = ExtentLife.apply(extent, new ExtentCommand.FinishPull());
        return ExtentLife.apply(pulled, new ExtentCommand.Promote(replaced));
    }

    private static Extent dropped(Extent extent, ExtentHome home) {
        return ExtentLife.apply(extent, new ExtentCommand.Drop(home));
    }

    /** Home c, after it has read that its part of the space with id 5 is released. */
    private static NodeReport releasing(boolean deleted, boolean done) {
        Release release = new Release(9, 5, new Incarnation(3), 8L * PAGE, 4L * PAGE, deleted);
        Hosted hosted = hosted(110, List.of(), List.of(release));
        return done ? report("c", hosted, release) : report("c", hosted);
    }

    @Test
    void shouldKeepASpaceOfWhichAHomeReleasesACopy() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(mirrored(2, home("b", 0)))));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, mirrored(2, home("b", 0))));
        rebuild.report("c", releasing(false, false));
        assertEquals(List.of(), rebuild.status().conflicts());
        rebuild.finish(Set.of());
        State state = state();
        Space vm = state.space("vm").orElseThrow();
        assertEquals(List.of(home("b", 0)), state.extentsOf(vm).getFirst().homes());
        assertEquals(1, state.releases().size());
    }

    /**
     * The record of the home that stays is of before the drop: pages that the other home zeroes are not read from
     * there.
     */
    @Test
    void shouldTakeAReleasedCopyForDroppedAlthoughAnotherReportHasIt() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(mirrored(1, home("b", 0), home("c", 8)))));
        rebuild.report("c", releasing(false, false));
        rebuild.finish(Set.of());
        Extent extent = state().extentsOf(state().space("vm").orElseThrow()).getFirst();
        assertEquals(List.of(home("b", 0)), extent.homes());
        assertEquals(ExtentState.OK, extent.state());
    }

    @Test
    void shouldWaitForJoinedHomeWhenTheOnlyKnownCopyWasDropped() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        Extent joined = joined(extent(1, Optional.empty(), home("c", 8)), home("d", 0));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, space(5, "vm", joined)));
        rebuild.report("c", releasing(false, false));
        assertEquals(List.of("d"), rebuild.status().missing());
    }

    /** A coordinator would not start on what such a rebuild has written. */
    @Test
    void shouldRefuseASpaceOfWhichAPageIsInNoExtent() {
        SpaceExtents gap = space(
                5,
                "vm",
                new Extent(0, 4, List.of(home("b", 0)), ExtentState.OK),
                new Extent(5, 3, List.of(home("b", 4)), ExtentState.OK));
        Rebuild rebuild = new Rebuild(store, Set.of());
        assertTrue(refusal(() -> rebuild.report("b", report("b", List.of(gap)))).contains("has page 4 of space 'vm'"));
    }

    @Test
    void shouldKeepTheOtherExtentsInAPoolThatACopyWasDroppedFrom() {
        SpaceExtents both = space(
                5,
                "vm",
                new Extent(0, 4, List.of(home("b", 0), home("c", 8)), ExtentState.OK),
                new Extent(4, 4, List.of(home("b", 4), home("c", 12)), ExtentState.OK));
        Rebuild rebuild = new Rebuild(store, Set.of());
        Extent left = dropped(both.extents().getFirst(), home("c", 8));
        rebuild.report("b", report("b", List.of(both)));
        rebuild.report(
                "c",
                report("c", 110, List.of(space(5, "vm", left, both.extents().getLast()))));
        rebuild.finish(Set.of());
        List<Extent> extents = state().extentsOf(state().space("vm").orElseThrow());
        assertEquals(List.of(home("b", 0)), extents.getFirst().homes());
        assertEquals(List.of(home("b", 4), home("c", 12)), extents.getLast().homes());
    }

    /** A process of home c before has zeroed the range, and its successor does not know that. */
    @Test
    void shouldNotHaveARangeZeroedThatAnotherSpaceWasGivenSince() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        Release stale = new Release(7, 4, registration("c").incarnation(), 8L * PAGE, 4L * PAGE, false);
        rebuild.report("c", report("c", hosted(REVISION, List.of(), List.of(stale))));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, asOf(110, space(5, "vm", "c", 8, 4))));
        rebuild.finish(Set.of());
        assertTrue(state().releases().isEmpty());
        assertTrue(state().space("vm").isPresent());
    }

    /** Home b has zeroed its copy and the lost coordinator knew that; home c has not read of the deletion. */
    @Test
    void shouldNotBringASpaceBackThatAHomeRemembersAsDeleted() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        SpaceExtents vm = space(5, "vm", new Extent(0, 4, List.of(home("b", 0), home("c", 0)), ExtentState.OK));
        NodeReport b = report("b", 110, List.of());
        rebuild.report(
                "b",
                new NodeReport(
                        b.seen(),
                        b.index(),
                        b.registration(),
                        b.hosted(),
                        b.attached(),
                        b.attachments(),
                        b.released(),
                        b.superseded(),
                        Optional.of(List.of(5L)),
                        Optional.empty()));
        rebuild.report("c", report("c", List.of(vm)));
        rebuild.finish(Set.of());
        State state = state();
        assertTrue(state.spaces().isEmpty());
        assertEquals(
                List.of(true),
                state.releases().values().stream().map(Release::deleted).toList(),
                "home c zeroes its copy");
    }

    @Test
    void shouldNotBringAMirroredSpaceBackThatWasDeleted() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(mirrored(1, home("b", 0), home("c", 8)))));
        rebuild.report("c", releasing(true, false));
        rebuild.finish(Set.of());
        assertTrue(state().spaces().isEmpty());
    }

    /** The copy was dropped, and the writer has acknowledged that; the home has not read of it. */
    @Test
    void shouldHaveAHomeZeroACopyWhoseReleaseItDoesNotKnow() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, asOf(110, mirrored(2, home("b", 0)))));
        rebuild.report("b", report("b", List.of(mirrored(1, home("b", 0), home("c", 8)))));
        rebuild.report("c", report("c", List.of(mirrored(1, home("b", 0), home("c", 8)))));
        rebuild.finish(Set.of());

        State state = state();
        Release release = List.copyOf(state.releases().values()).getFirst();
        assertEquals(1, state.releases().size());
        assertEquals(new Release(release.id(), 5, new Incarnation(3), 8L * PAGE, 4L * PAGE, false), release);
        assertEquals(Set.of("c/" + Keys.id(release.id())), state.releases().keySet());
        assertTrue(state.nextId() > release.id());
    }

    /** One home has read of the deletion, and the other has not. */
    @Test
    void shouldHaveAHomeZeroItsPartOfASpaceWhoseDeletionItDoesNotKnow() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(mirrored(1, home("b", 0), home("c", 8)))));
        rebuild.report("c", releasing(true, true));
        rebuild.finish(Set.of());

        Release release = List.copyOf(state().releases().values()).getFirst();
        assertEquals(1, state().releases().size());
        assertEquals(new Release(release.id(), 5, new Incarnation(2), 0, 4L * PAGE, true), release);
    }

    /** Its DELETE of the attachment was executed, and the answer lost. */
    @Test
    void shouldEndTheAttachmentToASpaceThatWasDeleted() {
        for (boolean done : List.of(false, true)) {
            Store store = MvStore.open(directory.resolve("store-" + done));
            try (store) {
                Rebuild rebuild = new Rebuild(store, Set.of());
                rebuild.report("c", releasing(true, done));
                rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, mirrored(1, home("b", 0))));
                assertEquals(List.of(), rebuild.status().conflicts());
                rebuild.finish(Set.of());
                State state = new Ledger(store, 10, nanos -> {}).state();
                assertEquals(0, state.spaces().size());
                assertEquals(Map.of(), state.attachments());
            }
        }
    }

    private static NodeReport detaching(String node, Optional<String> torn) {
        return attached(
                node,
                List.of(mirrored(1, home("b", 0))),
                List.of(new NodeReport.Held(5, AttachMode.EXCLUSIVE, torn, true)));
    }

    /** A node may have attached before the other had the answer to its detachment. */
    @Test
    void shouldEndAttachmentOfDetachingNodeIfAnotherUsesTheSpace() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(mirrored(1, home("b", 0)))));
        rebuild.report("a", detaching("a", Optional.of("of earlier")));
        rebuild.report("c", attached("c", AttachMode.EXCLUSIVE, mirrored(1, home("b", 0))));
        assertEquals(List.of(), rebuild.status().conflicts());
        rebuild.finish(Set.of());
        assertEquals(List.of("c"), attachedNodes());
        assertEquals(Optional.empty(), state().space("vm").orElseThrow().torn());
    }

    @Test
    void shouldKeepTheAttachmentsOfNodesThatDetachIfNoneUsesTheSpace() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(mirrored(1, home("b", 0)))));
        rebuild.report("a", detaching("a", Optional.of("no home answered")));
        rebuild.report("c", detaching("c", Optional.empty()));
        rebuild.finish(Set.of());
        assertEquals(List.of("a", "c"), attachedNodes());
        assertEquals(
                "no home answered",
                state().space("vm").flatMap(Space::torn).orElseThrow().reason());
    }

    private List<String> attachedNodes() {
        return state().attachments().values().stream().map(Attachment::node).toList();
    }

    @Test
    void shouldRefuseAnAttachmentToASpaceThatNoReportDescribes() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        NodeReport unknown = attached("a", List.of(), List.of(held(5, AttachMode.EXCLUSIVE)));
        assertTrue(refusal(() -> rebuild.report("a", unknown))
                .contains("node 'a' is attached to space 5, which no report describes"));
    }

    @Test
    void shouldKeepASpaceWhoseDroppedCopyHasMadeRoomForAnother() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        Extent dropped =
                extent(2, Optional.of(List.of(new DroppedHome("c", new Incarnation(3), 8L * PAGE, 2))), home("b", 0));
        rebuild.report("b", report("b", List.of(space(5, "vm", dropped))));
        rebuild.report("c", report("c", 110, List.of(space(6, "new", "c", 8, 4))));
        rebuild.finish(Set.of());
        State state = state();
        assertEquals(2, state.spaces().size());
        assertEquals(
                List.of(),
                state.extentsOf(state.space("vm").orElseThrow()).getFirst().droppedHomes());
    }

    @Test
    void shouldRefuseAStoreOfAnotherClusterAndReportsOfTwo() {
        try (Store own = MvStore.open(directory.resolve("own"))) {
            var _ = Lineage.begin(own);
            Rebuild rebuild = new Rebuild(own, Set.of());
            assertTrue(refusal(() -> rebuild.report("a", report("a", List.of())))
                    .contains("empty directory"));
        }
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of()));
        NodeReport other = new NodeReport(
                Optional.of(CLUSTER.replace('0', 'f') + "/1-0000000000000001/5"),
                INDEX,
                registration("b"),
                Hosted.NOTHING,
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                Optional.empty(),
                Optional.empty());
        assertTrue(refusal(() -> rebuild.report("b", other)).contains("2 clusters"));
    }

    @Test
    void shouldNotBeginAClusterFromAgentsThatHaveNeverJoinedOne() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report(
                "a",
                new NodeReport(
                        Optional.empty(),
                        0,
                        registration("a"),
                        Hosted.NOTHING,
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        Optional.empty(),
                        Optional.empty()));
        assertTrue(refusal(() -> rebuild.finish(Set.of())).contains("joined a cluster"));
    }
}
