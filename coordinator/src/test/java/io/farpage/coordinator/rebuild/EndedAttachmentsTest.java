package io.farpage.coordinator.rebuild;

import static io.farpage.coordinator.rebuild.Reports.REVISION;
import static io.farpage.coordinator.rebuild.Reports.asOf;
import static io.farpage.coordinator.rebuild.Reports.attached;
import static io.farpage.coordinator.rebuild.Reports.onBandC;
import static io.farpage.coordinator.rebuild.Reports.refusal;
import static io.farpage.coordinator.rebuild.Reports.registration;
import static io.farpage.coordinator.rebuild.Reports.report;
import static io.farpage.coordinator.rebuild.Reports.seen;
import static io.farpage.coordinator.rebuild.Reports.space;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.Attachments;
import io.farpage.coordinator.cluster.Grants;
import io.farpage.coordinator.cluster.Hosting;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Incarnation 9 of node a had a guest on homes b and c; incarnation 1 of node a reports. */
class EndedAttachmentsTest {

    private static final Incarnation BEFORE = new Incarnation(9);
    private static final Incarnation NOW = registration("a").incarnation();

    private final Store store;

    EndedAttachmentsTest(@TempDir Path directory) {
        this.store = MvStore.open(directory.resolve("store"));
    }

    @AfterEach
    void close() {
        store.close();
    }

    private static Attachment attachment(Incarnation incarnation, AttachMode mode) {
        return new Attachment(5, "a", incarnation, mode, 33);
    }

    /** The report of a home that knows attachments to the space. */
    private static NodeReport home(String node, long revision, Attachment... known) {
        return home(node, revision, onBandC(), known);
    }

    private static NodeReport home(String node, long revision, SpaceExtents space, Attachment... known) {
        return report(
                node,
                new Hosted(
                        revision,
                        List.of(asOf(revision, space)),
                        List.of(),
                        List.of(known).stream()
                                .map(each -> HostedAttachment.of(each, 1))
                                .toList(),
                        List.of(),
                        List.of()));
    }

    /** The report of node a, which is not attached yet. */
    private static NodeReport successor(Long... adopts) {
        return adopting(report("a", Hosted.NOTHING), adopts);
    }

    private static NodeReport adopting(NodeReport plain, Long... adopts) {
        return new NodeReport(
                Optional.of(seen(REVISION)),
                plain.index(),
                plain.registration().withAdopted(List.of(adopts)),
                plain.hosted(),
                plain.attached(),
                plain.attachments(),
                plain.released(),
                plain.superseded(),
                Optional.empty(),
                Optional.empty());
    }

    /** The report of node a, whose process before has left a guest and known its space as of a revision. */
    private static NodeReport leftAt(long revision) {
        NodeReport plain = successor(5L);
        SpaceExtents moved = space(
                5,
                "vm",
                new Extent(0, 4, List.of(Reports.home("b", 0)), ExtentState.OK),
                new Extent(4, 4, List.of(Reports.home("b", 8)), ExtentState.OK));
        return new NodeReport(
                Optional.of(seen(120)),
                plain.index(),
                plain.registration(),
                plain.hosted(),
                plain.attached(),
                plain.attachments(),
                plain.released(),
                plain.superseded(),
                plain.deleted(),
                Optional.of(List.of(new NodeReport.Left(BEFORE, asOf(revision, moved)))));
    }

    private State rebuild(NodeReport a, NodeReport b, NodeReport c) {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", a);
        rebuild.report("b", b);
        rebuild.report("c", c);
        rebuild.finish(Set.of());
        return new Ledger(store, 10, nanos -> {}).state();
    }

    private static Optional<String> torn(State state) {
        return state.space("vm").flatMap(Space::torn).map(torn -> torn.reason());
    }

    @Test
    void shouldPassAGuestOnceAllHomesCutTheProcessBeforeOff() {
        Attachment before = attachment(BEFORE, AttachMode.EXCLUSIVE);
        State state = rebuild(successor(5L), home("b", REVISION, before), home("c", REVISION, before));
        assertEquals(
                List.of(before.withHeir(NOW)), List.copyOf(state.attachments().values()));
        assertEquals(Optional.empty(), torn(state));

        Ledger ledger = new Ledger(store, 10, nanos -> {});
        Attachments attachments = new Attachments(ledger, Time.system());
        AttachRequest adopt = new AttachRequest(
                        NOW, AttachMode.EXCLUSIVE, Optional.empty(), Optional.of(Feature.words()))
                .withAdopted(BEFORE);
        assertTrue(refusal(() -> attachments.attach("vm", "a", adopt)).contains("'b', 'c' has cut off"));
        cutOff(ledger, "b");
        cutOff(ledger, "c");
        assertEquals(NOW, attachments.attach("vm", "a", adopt).incarnation());
    }

    private static void cutOff(Ledger ledger, String home) {
        Hosting hosting = new Hosting(ledger, new Grants(ledger));
        hosting.acknowledge(
                home,
                new HostedAck(
                        registration(home).incarnation(),
                        hosting.of(home).revision(),
                        List.of(new HostedAck.Fenced("a", BEFORE)),
                        List.of()));
    }

    /** The lost coordinator had begun to pass the guest, and one home has done its part. */
    @Test
    void shouldAskAHomeAgainThatHasCutTheProcessBeforeOff() {
        Attachment before = attachment(BEFORE, AttachMode.EXCLUSIVE);
        NodeReport b = home("b", REVISION, before);
        Fence done = new Fence("b", registration("b").incarnation(), 5, "a", BEFORE, true);
        NodeReport fenced = report("b", b.hosted().withFences(List.of(done)));
        State state = rebuild(successor(5L), fenced, home("c", REVISION, before));
        assertEquals(
                List.of(false, false),
                state.fences().values().stream().map(Fence::acknowledged).toList());
        assertEquals(
                List.of(before.withHeir(NOW)), List.copyOf(state.attachments().values()));
    }

    @Test
    void shouldKnowAGuestAsAttachedThatHadPassedBefore() {
        Attachment passed = attachment(NOW, AttachMode.EXCLUSIVE);
        State state = rebuild(successor(5L), home("b", REVISION, passed), home("c", REVISION, passed));
        assertEquals(List.of(passed), List.copyOf(state.attachments().values()));
        assertTrue(state.fences().isEmpty());
    }

    /** Home c has not read that the guest has passed. */
    @Test
    void shouldKeepAnAttachmentThatHasPassedWhateverIsCutOff() {
        Attachment passed = attachment(NOW, AttachMode.EXCLUSIVE);
        State state = rebuild(successor(5L), home("b", REVISION, passed), fenced("c", 90, BEFORE));
        assertEquals(List.of(passed), List.copyOf(state.attachments().values()));
        assertEquals(2, state.fences().size());
    }

    @Test
    void shouldKeepTheAttachmentOfANodeWhoseFormerProcessIsCutOff() {
        NodeReport a = attached("a", AttachMode.SHARED, onBandC());
        State state = rebuild(a, home("b", REVISION), fenced("c", 90, BEFORE));
        assertEquals(
                List.of(NOW),
                state.attachments().values().stream()
                        .map(Attachment::incarnation)
                        .toList());
        assertEquals(2, state.fences().size());
    }

    /** Home c has not read that the process before has attached, after another one. */
    @Test
    void shouldPassAGuestWhateverWasCutOffBefore() {
        Attachment before = attachment(BEFORE, AttachMode.EXCLUSIVE);
        for (long earlier : List.of(4L, 0xff04L)) {
            State state =
                    rebuild(successor(5L), home("b", REVISION, before), fenced("c", 90, new Incarnation(earlier)));
            assertEquals(
                    List.of(before.withHeir(NOW)),
                    List.copyOf(state.attachments().values()));
            assertEquals(4, state.fences().size());
        }
    }

    /** The report of a home that has not cut an incarnation of node a off. */
    private static NodeReport fenced(String node, long revision, Incarnation incarnation) {
        Fence fence = new Fence(node, registration(node).incarnation(), 5, "a", incarnation, false);
        return report(node, home(node, revision).hosted().withFences(List.of(fence)));
    }

    /** No home has read yet that the guest attached, nor that home c was dropped. */
    @Test
    void shouldTakeFromTheSuccessorWhatTheProcessBeforeKnew() {
        State state = rebuild(leftAt(115), home("b", REVISION), home("c", REVISION));
        assertEquals(
                List.of(new Attachment(5, "a", BEFORE, AttachMode.EXCLUSIVE, 0).withHeir(NOW)),
                List.copyOf(state.attachments().values()));
        assertEquals(
                Set.of("b"),
                state.extentsOf(state.space("vm").orElseThrow()).stream()
                        .flatMap(Extent::places)
                        .map(ExtentHome::node)
                        .collect(Collectors.toSet()));
    }

    /** The space was taken over, and detached, after the process before had last heard of it. */
    @Test
    void shouldNotPassAGuestThatAHomeKnowsAsDetached() {
        State state = rebuild(leftAt(REVISION), home("b", 110), home("c", 110));
        assertTrue(state.attachments().isEmpty());
    }

    /** The process before has ended, and its links with it; a home that has failed would be waited for. */
    @Test
    void shouldNotHaveANodeCutOffItsOwnProcessBefore() {
        Attachment before = new Attachment(6, "b", BEFORE, AttachMode.EXCLUSIVE, 33);
        Rebuild rebuild = new Rebuild(store, Set.of());
        SpaceExtents own = space(6, "own", "b", 0, 4);
        NodeReport plain = home("b", REVISION, own, before);
        rebuild.report("b", adopting(plain, 6L));
        rebuild.finish(Set.of());
        State state = new Ledger(store, 10, nanos -> {}).state();
        assertTrue(state.fences().isEmpty());
        assertEquals(
                List.of(new Attachment(6, "b", registration("b").incarnation(), AttachMode.EXCLUSIVE, 33)),
                List.copyOf(state.attachments().values()));
    }

    @Test
    void shouldHaveOnlyTheOtherHomeCutOffTheProcessBefore() {
        Attachment before = new Attachment(5, "b", BEFORE, AttachMode.EXCLUSIVE, 33);
        State state = rebuild(
                report("a", Hosted.NOTHING), adopting(home("b", REVISION, before), 5L), home("c", REVISION, before));
        assertEquals(
                List.of("c"), state.fences().values().stream().map(Fence::home).toList());
        assertEquals(
                List.of(before.withHeir(registration("b").incarnation())),
                List.copyOf(state.attachments().values()));
    }

    @Test
    void shouldTearASpaceWhoseGuestEndedWithItsAgent() {
        Attachment before = attachment(BEFORE, AttachMode.EXCLUSIVE);
        State state = rebuild(successor(), home("b", REVISION, before), home("c", REVISION, before));
        assertEquals(Optional.of("node 'a' was started again while a guest used the space"), torn(state));
        assertEquals(List.of(before), List.copyOf(state.attachments().values()));
        assertEquals(2, state.fences().size());
    }

    @Test
    void shouldCutOffWithoutATornMarkAnAgentThatSharedTheSpace() {
        Attachment before = attachment(BEFORE, AttachMode.SHARED);
        State state = rebuild(successor(), home("b", REVISION, before), home("c", REVISION, before));
        assertEquals(Optional.empty(), torn(state));
        assertEquals(2, state.fences().size());
    }

    /** Home b has not read yet that the guest has detached. */
    @Test
    void shouldGoByTheLatestDocumentOfAHome() {
        State state =
                rebuild(successor(), home("b", REVISION, attachment(BEFORE, AttachMode.EXCLUSIVE)), home("c", 110));
        assertEquals(Optional.empty(), torn(state));
        assertTrue(state.attachments().isEmpty());
    }

    /** Node d attached after the guest had ended, which no home has read. */
    @Test
    void shouldNotPassASpaceThatAnotherNodeUses() {
        Attachment before = attachment(BEFORE, AttachMode.EXCLUSIVE);
        Rebuild rebuild = new Rebuild(store, Set.of());
        SpaceExtents later = asOf(120, onBandC());
        rebuild.report("a", successor(5L));
        rebuild.report("b", home("b", REVISION, before));
        rebuild.report("c", home("c", REVISION, before));
        rebuild.report("d", attached("d", AttachMode.EXCLUSIVE, later));
        rebuild.finish(Set.of());
        State state = new Ledger(store, 10, nanos -> {}).state();
        assertEquals(
                List.of("d"),
                state.attachments().values().stream().map(Attachment::node).toList());
        assertTrue(state.fences().isEmpty());
        assertEquals(Optional.empty(), torn(state));
    }

    /** Node b is a member, too, and says so. */
    @Test
    void shouldCutOffAnEndedMemberBesideOthers() {
        SpaceExtents plain = onBandC();
        SpaceExtents coherent = new SpaceExtents(plain.space().withCoherent(), plain.revision(), plain.extents());
        Attachment ended = attachment(BEFORE, AttachMode.MEMBER);
        Attachment stays = new Attachment(5, "b", registration("b").incarnation(), AttachMode.MEMBER, 34);
        NodeReport home = home("b", REVISION, coherent, ended, stays);
        NodeReport b = new NodeReport(
                home.seen(),
                home.index(),
                home.registration(),
                home.hosted(),
                List.of(coherent),
                List.of(Reports.held(5, AttachMode.MEMBER)),
                home.released(),
                home.superseded(),
                Optional.empty(),
                Optional.empty());
        State state = rebuild(successor(5L), b, home("c", REVISION, coherent, ended, stays));
        assertTrue(state.space("vm").orElseThrow().isCoherent());
        assertEquals(Set.of(ended, stays), Set.copyOf(state.attachments().values()));
        assertEquals(
                Set.of("b", "c"),
                state.fences().values().stream()
                        .filter(fence -> fence.isOf("a", BEFORE) && !fence.acknowledged())
                        .map(Fence::home)
                        .collect(Collectors.toSet()));
        assertTrue(torn(state).orElse("whole").contains("node 'a'"), () -> "torn: " + torn(state));
    }
}
