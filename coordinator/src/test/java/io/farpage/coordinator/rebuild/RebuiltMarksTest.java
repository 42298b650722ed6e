package io.farpage.coordinator.rebuild;

import static io.farpage.coordinator.rebuild.Reports.REVISION;
import static io.farpage.coordinator.rebuild.Reports.asOf;
import static io.farpage.coordinator.rebuild.Reports.attached;
import static io.farpage.coordinator.rebuild.Reports.onBandC;
import static io.farpage.coordinator.rebuild.Reports.registration;
import static io.farpage.coordinator.rebuild.Reports.report;
import static io.farpage.coordinator.rebuild.Reports.space;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Creation;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.Torn;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a rebuild leaves of the marks of a space: torn, encrypted, for some nodes only. */
class RebuiltMarksTest {

    private final Store store;

    RebuiltMarksTest(@TempDir Path directory) {
        this.store = MvStore.open(directory.resolve("store"));
    }

    @AfterEach
    void close() {
        store.close();
    }

    private State state() {
        return new Ledger(store, 10, nanos -> {}).state();
    }

    private static SpaceExtents torn(SpaceExtents space) {
        Torn torn = new Torn("its guest was killed", Instant.EPOCH);
        return new SpaceExtents(space.space().withTorn(Optional.of(torn)), space.revision(), space.extents());
    }

    @Test
    void shouldKeepTheTornMarkOfTheHighestRevision() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", REVISION, List.of(onBandC())));
        rebuild.report("c", report("c", REVISION + 10, List.of(torn(onBandC()))));
        rebuild.finish(Set.of());
        assertEquals(
                "its guest was killed",
                state().space("vm").flatMap(Space::torn).orElseThrow().reason());
    }

    /** Those who know that a node has written since may not have reported. */
    @Test
    void shouldNotRelyOnThePresenceMapThatAReportNames() {
        SpaceExtents said = space(5, "vm", "b", 0, 9);
        Space space = new Space(5, "vm", 8 * 4096, 4096, said.space().state(), Instant.EPOCH, false)
                .withPresence(Optional.of(new Presence(1, Optional.of("f".repeat(32)))));
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", REVISION, List.of(new SpaceExtents(space, REVISION, said.extents()))));
        rebuild.finish(Set.of());
        assertEquals(
                Optional.of(new Presence(1, Optional.empty())),
                state().space("vm").flatMap(Space::presence));
    }

    /** No home knows a clone; the agent of its guest does. */
    @Test
    void shouldKeepACloneThatAnAgentHasAttached() {
        SpaceExtents golden = space(5, "golden", "b", 0, 8);
        Space clone = new Space(6, "clone", 8 * 4096, 4096, golden.space().state(), Instant.EPOCH, false).withBase(5);
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", REVISION, List.of(golden)));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, new SpaceExtents(clone, REVISION - 5, List.of())));
        rebuild.finish(Set.of());
        assertEquals(Optional.of(clone), state().space("clone"));
        assertEquals(
                8,
                state().extentsOf(state().space("golden").orElseThrow())
                        .getFirst()
                        .count());
        assertEquals(
                List.of(6L),
                state().attachments().values().stream().map(Attachment::space).toList());
    }

    private static NodeReport left(NodeReport plain, SpaceExtents space) {
        return new NodeReport(
                plain.seen(),
                plain.index(),
                plain.registration(),
                plain.hosted(),
                plain.attached(),
                plain.attachments(),
                plain.released(),
                plain.superseded(),
                plain.deleted(),
                Optional.of(List.of(new NodeReport.Left(new Incarnation(77), space))));
    }

    private static SpaceExtents thin(long id, long revision) {
        Space space = new Space(id, "thin", 8 * 4096, 4096, ExtentState.OK, Instant.EPOCH, false).withThin();
        return new SpaceExtents(space, revision, List.of(new Extent(0, 8, List.of(), ExtentState.OK)));
    }

    /** No home knows a thin space without room. */
    @Test
    void shouldKeepAThinSpaceWithoutRoomThatAnAgentHasAttached() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", REVISION + 10, List.of(onBandC())));
        rebuild.report("c", report("c", REVISION + 10, List.of(onBandC())));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, thin(6, REVISION)));
        rebuild.finish(Set.of());
        assertEquals(
                List.of(new Extent(0, 8, List.of(), ExtentState.OK)),
                state().extentsOf(state().space("thin").orElseThrow()));
    }

    /** The agent was killed, and its successor has not adopted the guest yet. */
    @Test
    void shouldKeepAThinSpaceWithoutRoomWhoseGuestWaitsForASuccessor() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", REVISION + 10, List.of(onBandC())));
        rebuild.report("c", report("c", REVISION + 10, List.of(onBandC())));
        rebuild.report("a", left(report("a", REVISION, List.of()), thin(6, REVISION)));
        rebuild.finish(Set.of());
        assertEquals(6, state().space("thin").orElseThrow().id());
    }

    /** An earlier space of the same name had no room, and was deleted. */
    @Test
    void shouldForgetAThinSpaceWithoutRoomThatNoAgentUses() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", REVISION, List.of(onBandC(), thin(7, REVISION))));
        rebuild.report("c", report("c", REVISION, List.of(onBandC())));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, thin(8, REVISION)));
        rebuild.finish(Set.of());
        assertEquals(8, state().space("thin").orElseThrow().id());
    }

    private static SpaceExtents sealed(SpaceExtents space, String mark) {
        Encryption encryption = new Encryption("0123456789abcdef", Optional.of(new Encryption.Sealed(mark, "b")));
        return new SpaceExtents(
                space.space().withEncryption(Optional.of(encryption)), space.revision(), space.extents());
    }

    @Test
    void shouldKeepThatASpaceIsEncryptedAndItsLatestMark() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        String latest = "f".repeat(32);
        rebuild.report("b", report("b", REVISION + 10, List.of(sealed(onBandC(), latest))));
        rebuild.report("c", report("c", REVISION, List.of(sealed(onBandC(), "0".repeat(32)))));
        rebuild.finish(Set.of());
        assertEquals(
                latest,
                state().space("vm")
                        .flatMap(Space::encryption)
                        .flatMap(Encryption::sealed)
                        .orElseThrow()
                        .mark());
    }

    @Test
    void shouldEndTheTornMarkWhenTheNodeThatAttachedByForceSaysSo() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        SpaceExtents vm = space(5, "vm", "b", 0, 8);
        rebuild.report("b", report("b", REVISION, List.of(torn(vm))));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, asOf(REVISION + 10, vm)));
        rebuild.finish(Set.of());
        assertTrue(state().space("vm").orElseThrow().torn().isEmpty());
    }

    /** Home c has not read that a node attached by force, which has detached since. */
    @Test
    void shouldNotTakeTheTornMarkOfALowerRevision() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", REVISION + 10, List.of(onBandC())));
        rebuild.report("c", report("c", REVISION, List.of(torn(onBandC()))));
        rebuild.finish(Set.of());
        assertTrue(state().space("vm").orElseThrow().torn().isEmpty());
    }

    /** The guest ended while the coordinator was away, and its agent has not detached yet. */
    @Test
    void shouldMarkASpaceTornThatAnAgentCouldNotSave() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        SpaceExtents vm = space(5, "vm", "b", 0, 8);
        rebuild.report("b", report("b", List.of(vm)));
        rebuild.report(
                "a",
                attached(
                        "a",
                        List.of(vm),
                        List.of(new NodeReport.Held(5, AttachMode.EXCLUSIVE, Optional.of("no home answered"), false))));
        rebuild.finish(Set.of());
        assertEquals(
                "no home answered",
                state().space("vm").flatMap(Space::torn).orElseThrow().reason());
    }

    /** The creation may be repeated after the rebuild. */
    @Test
    void shouldKeepWhichRequestMadeASpace() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        Optional<Creation> creation = Optional.of(new Creation("k-1", "0".repeat(32)));
        SpaceExtents vm = space(5, "vm", "b", 0, 8);
        rebuild.report(
                "b",
                report("b", List.of(new SpaceExtents(vm.space().withCreation(creation), vm.revision(), vm.extents()))));
        rebuild.finish(Set.of());
        assertEquals(creation, state().space("vm").flatMap(Space::creation));
    }

    private static SpaceExtents withNodes(SpaceExtents space, String... nodes) {
        Optional<List<String>> list = nodes.length == 0 ? Optional.empty() : Optional.of(List.of(nodes));
        return new SpaceExtents(space.space().withNodes(list), space.revision(), space.extents());
    }

    @Test
    void shouldKeepTheLatestListOfNodesThatMayAttachASpace() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", REVISION + 10, List.of(withNodes(onBandC(), "b"))));
        rebuild.report("c", report("c", REVISION, List.of(withNodes(onBandC(), "a", "c"))));
        rebuild.finish(Set.of());
        assertEquals(Optional.of(List.of("b")), state().space("vm").flatMap(Space::nodes));
    }

    /** The keys that a node has are of that attachment: with another id its homes would revoke them. */
    @Test
    void shouldKeepTheIdThatHomesKnowOfAnAttachment() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        Incarnation a = registration("a").incarnation();
        rebuild.report("b", knowing("b", HostedAttachment.of(new Attachment(5, "a", a, AttachMode.EXCLUSIVE, 48), 1)));
        rebuild.report("c", knowing("c", HostedAttachment.of(new Attachment(5, "a", a, AttachMode.EXCLUSIVE, 49), 1)));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, onBandC()));
        rebuild.finish(Set.of());
        assertEquals(
                List.of(new Attachment(5, "a", a, AttachMode.EXCLUSIVE, 49)),
                List.copyOf(state().attachments().values()));
        assertTrue(state().index() >= 49, "the id of the next attachment is the index of its event");
    }

    private static NodeReport knowing(String home, HostedAttachment attachment) {
        return report(
                home, new Hosted(REVISION, List.of(onBandC()), List.of(), List.of(attachment), List.of(), List.of()));
    }
}
