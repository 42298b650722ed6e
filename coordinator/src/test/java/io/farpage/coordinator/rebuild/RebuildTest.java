package io.farpage.coordinator.rebuild;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.config.HostPort;
import io.farpage.coordinator.api.Rights;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.cluster.Attachments;
import io.farpage.coordinator.cluster.Fences;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.FenceAck;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.Torn;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import io.farpage.rest.Entrance;
import io.farpage.rest.Json;
import io.farpage.rest.ProblemException;
import io.farpage.rest.RestServer;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reports that are merged into a real store. Node a has incarnation 1, node b 2, node c 3; each exports 64 pages. */
class RebuildTest {

    private static final int PAGE = 4096;
    private static final String CLUSTER = "0123456789abcdef0123456789abcdef";

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

    private static Registration registration(String node) {
        return Fixture.node(node.charAt(0) - 'a' + 1, 64L * PAGE);
    }

    private static ExtentHome home(String node, long firstFrame) {
        return new ExtentHome(node, registration(node).incarnation(), firstFrame * PAGE);
    }

    private static SpaceExtents space(long id, String name, Extent... extents) {
        long pages = List.of(extents).stream().mapToLong(Extent::count).sum();
        return new SpaceExtents(
                new Space(id, name, pages * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false), 10, List.of(extents));
    }

    private static SpaceExtents space(long id, String name, String node, long firstFrame, long count) {
        return space(id, name, new Extent(0, count, List.of(home(node, firstFrame)), ExtentState.OK));
    }

    private static String seen(long revision) {
        return Seen.parse(CLUSTER + "/7-0000000000000001/" + revision).toString();
    }

    private static NodeReport report(String node, List<SpaceExtents> hosted) {
        return new NodeReport(
                Optional.of(seen(100)),
                registration(node),
                new Hosted(100, hosted, List.of()),
                List.of(),
                List.of(),
                List.of());
    }

    private static NodeReport attached(String node, AttachMode mode, SpaceExtents... spaces) {
        return new NodeReport(
                Optional.of(seen(120)),
                registration(node),
                Hosted.NOTHING,
                List.of(spaces),
                List.of(spaces).stream()
                        .map(space -> new NodeReport.Held(space.space().id(), mode))
                        .toList(),
                List.of());
    }

    private static String refusal(Runnable attempt) {
        return String.valueOf(assertThrows(ProblemException.class, attempt::run).getMessage());
    }

    private State state() {
        return new Ledger(store, 10, nanos -> {}).state();
    }

    @Test
    void shouldHaveSpacesAttachmentsAndAnEpochThatAgentsObeyWhenAllExpectedNodesReported() {
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
        Lineage lineage = Lineage.begin(store);
        assertEquals(CLUSTER, lineage.cluster().toString());
        assertEquals(8, lineage.epoch().number());
        assertTrue(lineage.stamp(0).start() >= 120);
        lineage.require(Seen.parse(seen(120)));
    }

    @Test
    void shouldKnowASpaceWhoseHomeLagsFromTheNodeThatIsAttached() {
        Rebuild rebuild = new Rebuild(store, Set.of("a", "b"));
        rebuild.report("b", report("b", List.of()));
        rebuild.report("a", attached("a", AttachMode.SHARED, space(5, "vm", "b", 0, 8)));
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

    @Test
    void shouldTakeTheHomesWordForARoomThatWasGivenToAnotherSpace() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        SpaceExtents old = space(
                5,
                "old",
                new Extent(0, 4, List.of(home("b", 0)), ExtentState.OK),
                new Extent(4, 4, List.of(home("c", 0)), ExtentState.OK));
        rebuild.report("c", report("c", List.of(old)));
        rebuild.report("b", report("b", List.of(space(6, "new", "b", 0, 4))));
        assertEquals(List.of("new"), rebuild.status().spaces());
        assertEquals(List.of(), rebuild.status().conflicts());
    }

    @Test
    void shouldNotBringASpaceBackWhoseRoomWasZeroedNorZeroRoomTwice() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        Release done = new Release(7, 5, new Incarnation(2), 0, 8L * PAGE);
        Release pending = new Release(8, 4, new Incarnation(2), 8L * PAGE, 8L * PAGE);
        rebuild.report(
                "b",
                new NodeReport(
                        Optional.of(seen(100)),
                        registration("b"),
                        new Hosted(90, List.of(space(5, "gone", "b", 0, 8)), List.of(done, pending)),
                        List.of(),
                        List.of(),
                        List.of(done)));
        rebuild.finish(Set.of());
        State state = state();
        assertTrue(state.spaces().isEmpty());
        assertEquals(List.of(pending), List.copyOf(state.releases().values()));
        assertTrue(state.nextId() > 8);
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
                registration("b"),
                Hosted.NOTHING,
                List.of(),
                List.of(),
                List.of());
        assertTrue(refusal(() -> rebuild.report("b", other)).contains("2 clusters"));
    }

    @Test
    void shouldNotBeginAClusterFromAgentsThatHaveNeverJoinedOne() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report(
                "a",
                new NodeReport(Optional.empty(), registration("a"), Hosted.NOTHING, List.of(), List.of(), List.of()));
        assertTrue(refusal(() -> rebuild.finish(Set.of())).contains("joined a cluster"));
    }

    private static NodeReport withFences(NodeReport report, Fence... fences) {
        return new NodeReport(
                report.seen(),
                report.registration(),
                report.hosted(),
                report.attached(),
                report.attachments(),
                report.released(),
                Optional.of(List.of(fences)),
                Optional.empty());
    }

    private static NodeReport withSuperseded(NodeReport report, NodeReport.Superseded... old) {
        return new NodeReport(
                report.seen(),
                report.registration(),
                report.hosted(),
                report.attached(),
                report.attachments(),
                report.released(),
                Optional.empty(),
                Optional.of(List.of(old)));
    }

    private static Fence fence(String home, long space, String node, long incarnation, boolean acknowledged) {
        return new Fence(
                home, registration(home).incarnation(), space, node, new Incarnation(incarnation), acknowledged);
    }

    private SpaceExtents onBandC() {
        return space(
                5,
                "vm",
                new Extent(0, 4, List.of(home("b", 0)), ExtentState.OK),
                new Extent(4, 4, List.of(home("c", 0)), ExtentState.OK));
    }

    /** Home b was told to cut incarnation 9 of node a off and has done it; home c had not been told. */
    @Test
    void shouldKeepASpaceFromOthersUntilEveryHomeHasCutTheFencedIncarnationOff() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of()));
        rebuild.report("b", withFences(report("b", List.of(onBandC())), fence("b", 5, "a", 9, true)));
        rebuild.report("c", report("c", List.of(onBandC())));
        rebuild.finish(Set.of());

        Ledger ledger = new Ledger(store, 10, nanos -> {});
        Attachments attachments = new Attachments(ledger, Time.system());
        Fences fences = new Fences(ledger);
        assertEquals(List.of(fence("b", 5, "a", 9, true)), fences.of("b"));
        assertEquals(List.of(fence("c", 5, "a", 9, false)), fences.of("c"));
        AttachRequest exclusive = new AttachRequest(new Incarnation(3), AttachMode.EXCLUSIVE, Optional.of(true));
        assertTrue(refusal(() -> attachments.attach("vm", "c", exclusive)).contains("'c' must cut off first"));
        fences.acknowledge("c", new FenceAck(new Incarnation(3), "a", new Incarnation(9)));
        attachments.attach("vm", "c", exclusive);
        assertEquals(
                List.of(new Incarnation(9)),
                ledger.state().retired().values().stream()
                        .flatMap(retired -> retired.incarnations().stream())
                        .toList(),
                "the incarnation that is cut off must not register again");
    }

    @Test
    void shouldForgetAFenceThatAllHomesHaveExecutedForAnIncarnationThatCannotComeBack() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", withFences(report("b", List.of(onBandC())), fence("b", 5, "a", 9, true)));
        rebuild.report("c", withFences(report("c", List.of(onBandC())), fence("c", 5, "a", 9, true)));
        rebuild.finish(Set.of());
        assertTrue(state().fences().isEmpty());
        assertTrue(state().attachments().isEmpty());
        assertEquals(
                new State.Retired(List.of(new Incarnation(9))),
                state().retired().get("a"));
    }

    @Test
    void shouldForgetAFenceOfALivingAgentThatHasDetached() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of()));
        rebuild.report("b", withFences(report("b", List.of(onBandC())), fence("b", 5, "a", 1, true)));
        rebuild.report("c", report("c", List.of(onBandC())));
        rebuild.finish(Set.of());
        assertTrue(state().fences().isEmpty());
        assertTrue(state().attachments().isEmpty());
        assertTrue(state().retired().isEmpty());
    }

    @Test
    void shouldRefuseIncarnationsThatAgentsSawReplaced() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of()));
        rebuild.report(
                "b",
                withSuperseded(
                        report("b", List.of()),
                        new NodeReport.Superseded("a", new Incarnation(77)),
                        new NodeReport.Superseded("gone", new Incarnation(78))));
        rebuild.finish(Set.of());
        assertEquals(
                new State.Retired(List.of(new Incarnation(77))),
                state().retired().get("a"));
        assertEquals(
                new State.Retired(List.of(new Incarnation(78))),
                state().retired().get("gone"));
        Membership membership = new Membership(
                new Ledger(store, 10, nanos -> {}), Time.system(), Duration.ofSeconds(15), Duration.ofSeconds(5));
        assertTrue(refusal(() -> membership.register("a", Fixture.node(77, 64L * PAGE)))
                .contains("was superseded"));
    }

    @Test
    void shouldNotFinishFromTheReportOfAnIncarnationThatWasReplaced() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of()));
        assertTrue(refusal(() -> rebuild.report(
                        "b",
                        withSuperseded(report("b", List.of()), new NodeReport.Superseded("a", new Incarnation(1)))))
                .contains("node 'b' knows that it was replaced"));
        assertTrue(refusal(() -> rebuild.finish(Set.of())).contains("was replaced"));
    }

    private static SpaceExtents torn(SpaceExtents space) {
        Torn torn = new Torn("its guest was killed", Instant.EPOCH);
        return new SpaceExtents(space.space().withTorn(Optional.of(torn)), space.index(), space.extents());
    }

    @Test
    void shouldKeepTheTornMarkWhenAnyHomeKnowsIt() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(onBandC())));
        rebuild.report("c", report("c", List.of(torn(onBandC()))));
        rebuild.finish(Set.of());
        assertEquals(
                "its guest was killed",
                state().space("vm").flatMap(Space::torn).orElseThrow().reason());
    }

    private static SpaceExtents sealed(SpaceExtents space, long index, String mark) {
        Encryption encryption = new Encryption("0123456789abcdef", Optional.of(new Encryption.Sealed(mark, "b")));
        return new SpaceExtents(space.space().withEncryption(Optional.of(encryption)), index, space.extents());
    }

    @Test
    void shouldKeepThatASpaceIsEncryptedAndItsLatestMark() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        String latest = "f".repeat(32);
        rebuild.report("b", report("b", List.of(sealed(onBandC(), 20, latest))));
        rebuild.report("c", report("c", List.of(sealed(onBandC(), 10, "0".repeat(32)))));
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
        rebuild.report("b", report("b", List.of(torn(space(5, "vm", "b", 0, 8)))));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, space(5, "vm", "b", 0, 8)));
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
                new NodeReport(
                        Optional.of(seen(120)),
                        registration("a"),
                        Hosted.NOTHING,
                        List.of(vm),
                        List.of(new NodeReport.Held(5, AttachMode.EXCLUSIVE, Optional.of("no home answered"))),
                        List.of()));
        rebuild.finish(Set.of());
        assertEquals(
                "no home answered",
                state().space("vm").flatMap(Space::torn).orElseThrow().reason());
    }

    @Test
    void shouldTakeAReportOfMoreThan4MiBThroughRest() throws Exception {
        int spaces = 16_000;
        List<SpaceExtents> all = LongStream.rangeClosed(1, spaces)
                .mapToObj(id -> space(id, "a-space-with-a-name-" + id, "b", id - 1, 1))
                .toList();
        NodeReport long16000 = new NodeReport(
                Optional.of(seen(100)),
                Fixture.node(2, (long) spaces * PAGE),
                new Hosted(100, all, List.of()),
                List.of(),
                List.of(),
                List.of());
        int bytes = Json.STRICT.writeValueAsBytes(long16000).length;
        assertTrue(bytes > 4 << 20, bytes + " bytes");
        RestServer.Options options =
                new RestServer.Options("test", "1", Entrance.open(new HostPort("127.0.0.1", 0)), 4 << 20);
        try (RebuildServer server = new RebuildServer(options, store, Set.of("b"));
                CoordinatorClient client =
                        new CoordinatorClient(URI.create("http://" + server.listening()), Duration.ofSeconds(30))) {
            assertEquals(
                    new TreeSet<>(Rights.rebuildTable().routes()),
                    new TreeSet<>(server.registered()),
                    "every route has an entry in Rights");
            assertTrue(client.report("b", long16000).finished());
            server.awaitFinished();
        }
        assertEquals(spaces, state().spaces().size());
    }
}
