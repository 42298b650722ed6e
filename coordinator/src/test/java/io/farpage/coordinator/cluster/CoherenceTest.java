package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceReplicas;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several nodes use the coherent space "vm" at once, on homes h1 and h2. */
class CoherenceTest {

    private static final int PAGE = 4096;
    private static final Incarnation A = new Incarnation(2);
    private static final Incarnation B = new Incarnation(3);
    private static final Incarnation G = new Incarnation(21);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Grants grants = new Grants(with.ledger);
    private final Hosting hosting = new Hosting(with.ledger, grants);
    private final Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);

    @BeforeEach
    void makeASpace() {
        with.membership.register("h1", Fixture.node(11, 4 * PAGE));
        with.membership.register("h2", Fixture.node(12, 16 * PAGE));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        with.spaces.create(request("vm", "h1", "h2").asCoherent());
    }

    private static SpaceRequest request(String name, String... homes) {
        return new SpaceRequest(name, 8L * PAGE, OptionalInt.empty(), Optional.of(List.of(homes)));
    }

    private Attachment attach(String node, Incarnation incarnation) {
        return attachments.attach("vm", node, new AttachRequest(incarnation, AttachMode.MEMBER));
    }

    private void fail(String node) {
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        with.membership.nodes().stream()
                .filter(each -> !each.id().equals(node))
                .forEach(each -> with.membership.heartbeat(each.id(), each.incarnation()));
        with.time.advance(Duration.ofSeconds(2));
        with.membership.expire();
    }

    private static ProblemException refused(String word, Runnable attempt) {
        ProblemException refused = assertThrows(ProblemException.class, attempt::run);
        assertTrue(refused.problem("").is(word), refused::getMessage);
        return refused;
    }

    private List<String> members(String home) {
        return hosting.of(home).attachments().stream()
                .map(HostedAttachment::node)
                .toList();
    }

    private Space space() {
        return with.spaces.require("vm");
    }

    @Test
    void shouldLetSeveralNodesAttachAsMembers() {
        Attachment first = attach("a", A);
        Attachment second = attach("b", B);
        assertEquals(List.of(first, second), attachments.of("vm"));
        assertEquals(first, attach("a", A), "a member may confirm that it is attached");
    }

    @Test
    void shouldShowThatTheSpaceIsCoherent() {
        assertTrue(space().describe().contains("coherent: up to 16 nodes use it at once"), space()::describe);
        assertEquals(
                Optional.empty(),
                with.spaces
                        .create(request("more", "h2").asCoherent(), true, Optional.empty())
                        .presence());
    }

    @Test
    void shouldTellEachHomeTheMembersOfTheSpace() {
        Attachment first = attach("a", A);
        Attachment second = attach("b", B);
        List<HostedAttachment> told = List.of(HostedAttachment.of(first, 0), HostedAttachment.of(second, 0));
        assertEquals(told, hosting.of("h1").attachments());
        assertEquals(told, hosting.of("h2").attachments());
        assertEquals(Optional.of(AttachMode.MEMBER), told.getFirst().mode());
    }

    @Test
    void shouldGiveAMemberTheExtentsAndNoKeys() {
        attach("a", A);
        Attached document = new Attaching(with.ledger, grants).of("a", 0);
        Attached.Held held = document.spaces().getFirst();
        assertEquals(2, held.extents().orElseThrow().extents().size());
        assertEquals(
                List.of("h1", "h2"), document.homes().stream().map(Node::id).toList());
        assertEquals(List.of(), document.grants());
        GrantRequest grant =
                new GrantRequest(new Incarnation(11), A, held.attachment().id(), 1, "AAAA");
        refused("coherent", () -> grants.publish("h1", space().id(), "a", grant));
    }

    @Test
    void shouldAttachACoherentSpaceInNoOtherMode() {
        for (AttachMode mode : List.of(AttachMode.EXCLUSIVE, AttachMode.SHARED)) {
            ProblemException refused =
                    refused("coherent", () -> attachments.attach("vm", "a", new AttachRequest(A, mode)));
            assertTrue(String.valueOf(refused.getMessage()).contains(mode.adverb()), refused::getMessage);
        }
        with.spaces.create(request("plain", "h2"));
        refused("not-coherent", () -> attachments.attach("plain", "a", new AttachRequest(A, AttachMode.MEMBER)));
    }

    @Test
    void shouldRefuseAnAgentThatKnowsNoCoherentSpaces() {
        List<String> known = Feature.words().stream()
                .filter(word -> !word.equals(Feature.COHERENT.word()))
                .toList();
        AttachRequest old = new AttachRequest(A, AttachMode.MEMBER, Optional.empty(), Optional.of(known));
        refused("not-understood", () -> attachments.attach("vm", "a", old));
    }

    @Test
    void shouldRefuseTheSeventeenthMember() {
        for (int i = 0; i < Space.MOST_MEMBERS; i++) {
            with.membership.register("m" + i, Fixture.node(100 + i, 0));
            attach("m" + i, new Incarnation(100 + i));
        }
        refused("too-many-members", () -> attach("a", A));
        assertEquals(Space.MOST_MEMBERS, attachments.of("vm").size());
        attach("m0", new Incarnation(100));
        attachments.detach("vm", "m0", new Incarnation(100), Detachment.PLAIN);
        attach("a", A);
    }

    @Test
    void shouldNotTearTheSpaceWhenAMemberDetaches() {
        attach("a", A);
        attach("b", B);
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        assertEquals(Optional.empty(), space().torn());
        assertEquals(List.of("b"), members("h1"));
        assertEquals(List.of(), with.fences("h1"));
    }

    @Test
    void shouldCutOffAMemberWhoseAgentWasStartedAgain() {
        attach("a", A);
        attach("b", B);
        with.membership.register("a", Fixture.node(4, 0));
        assertTrue(space().torn().orElseThrow().reason().contains("node 'a' was started anew"), space()::describe);
        assertEquals(List.of("a", "b"), members("h1"), "until the homes have cut it off");
        assertTrue(with.fences("h1").getFirst().isOf("a", A));
        refused("fencing", () -> force("a", new Incarnation(4)));
        with.fenced("h1", new Incarnation(11), "a", A);
        with.fenced("h2", new Incarnation(12), "a", A);
        assertEquals(List.of("b"), members("h1"));
        attach("b", B);
        refused("space-torn", () -> attach("a", new Incarnation(4)));
        force("a", new Incarnation(4));
        assertEquals(Optional.empty(), space().torn());
        assertEquals(List.of("a", "b"), members("h2"));
    }

    @Test
    void shouldTearTheSpaceWhenAMemberLeavesPagesBehind() {
        attach("a", A);
        attach("b", B);
        attachments.detach("vm", "a", A, Detachment.torn("the deadline passed with 3 pages left"));
        assertEquals(
                "the deadline passed with 3 pages left",
                space().torn().orElseThrow().reason());
        assertEquals(List.of("b"), members("h1"));
    }

    private void force(String node, Incarnation incarnation) {
        attachments.attach(
                "vm",
                node,
                new AttachRequest(incarnation, AttachMode.MEMBER, Optional.of(true), Optional.of(Feature.words())));
    }

    /** The agent of node g was killed, and its successor has its pool and adopts guests. */
    private void succeed(long incarnation, Long... adopts) {
        Registration plain = Fixture.node(incarnation, 4 * PAGE);
        with.membership.register(
                "g",
                new Registration(
                                plain.incarnation(),
                                plain.hostname(),
                                plain.address(),
                                plain.cpus(),
                                plain.memoryBytes(),
                                plain.devices(),
                                new PoolInfo(4 * PAGE, PAGE, Optional.of(G)),
                                plain.transports(),
                                plain.linkKey(),
                                plain.status(),
                                Optional.empty(),
                                Optional.empty())
                        .withAdopted(List.of(adopts)));
    }

    private Attachment adopt(long incarnation) {
        return attachments.attach(
                "vm", "g", new AttachRequest(new Incarnation(incarnation), AttachMode.MEMBER).withAdopted(G));
    }

    @Test
    void shouldPassMembershipToSuccessorWhenHomesHaveCutOffKilledOne() {
        with.membership.register("g", Fixture.node(G.value(), 4 * PAGE));
        Attachment before = attach("g", G);
        attach("b", B);
        succeed(22, space().id());
        assertEquals(Optional.empty(), space().torn());
        HostedAttachment told = hosting.of("h1").attachments().get(1);
        assertEquals(Optional.of(new Incarnation(22)), told.heir());
        assertEquals(G, told.incarnation());
        attach("b", B);
        refused("fencing", () -> adopt(22));
        with.fenced("h1", new Incarnation(11), "g", G);
        refused("fencing", () -> adopt(22));
        with.fenced("h2", new Incarnation(12), "g", G);
        Attachment now = adopt(22);
        assertEquals(new Incarnation(22), now.incarnation());
        assertEquals(before.id(), now.id(), "by which directories know that it has the same pages");
        assertEquals(HostedAttachment.of(now, 0), hosting.of("h1").attachments().get(1));
        assertEquals(Optional.empty(), space().torn());
        assertEquals(List.of("b", "g"), members("h1"));
        attachments.detach("vm", "g", new Incarnation(22), Detachment.PLAIN);
        assertEquals(Optional.empty(), space().torn());
    }

    @Test
    void shouldTearSpaceWhenSuccessorAdoptsOtherGuests() {
        with.membership.register("g", Fixture.node(G.value(), 4 * PAGE));
        attach("g", G);
        succeed(22);
        assertTrue(space().torn().isPresent());
        assertEquals(Optional.empty(), hosting.of("h1").attachments().getFirst().heir());
        with.fenced("h1", new Incarnation(11), "g", G);
        with.fenced("h2", new Incarnation(12), "g", G);
        ProblemException refused = refused("not-adopted", () -> adopt(22));
        assertTrue(String.valueOf(refused.getMessage()).contains("as a member"), refused::getMessage);
    }

    @Test
    void shouldPassMembershipToTheLastOfSeveralSuccessors() {
        with.membership.register("g", Fixture.node(G.value(), 4 * PAGE));
        Attachment before = attach("g", G);
        succeed(22, space().id());
        with.fenced("h1", new Incarnation(11), "g", G);
        succeed(23, space().id());
        with.fenced("h2", new Incarnation(12), "g", G);
        assertEquals(before.id(), adopt(23).id());
        succeed(24, space().id());
        with.fenced("h1", new Incarnation(11), "g", new Incarnation(23));
        with.fenced("h2", new Incarnation(12), "g", new Incarnation(23));
        assertEquals(before.id(), adopt(24).id());
        assertEquals(Optional.empty(), space().torn());
    }

    @Test
    void shouldTearSpaceWhenHeirIsNotSucceeded() {
        with.membership.register("g", Fixture.node(G.value(), 4 * PAGE));
        attach("g", G);
        succeed(22, space().id());
        succeed(23);
        assertTrue(space().torn().isPresent());
        assertEquals(Optional.empty(), hosting.of("h1").attachments().getFirst().heir());
    }

    @Test
    void shouldLetAMemberStayWhenItsLeaseRunsOut() {
        attach("a", A);
        attach("b", B);
        fail("a");
        assertEquals(List.of(), with.fences("h1"));
        assertEquals(Optional.empty(), space().torn());
        assertEquals(List.of("a", "b"), members("h1"));
    }

    @Test
    void shouldCutOffAMemberWhoseNodeIsRemoved() {
        attach("a", A);
        attach("b", B);
        fail("a");
        with.membership.deregister("a", A, true);
        assertTrue(space().torn().isPresent());
        assertEquals(List.of("a", "b"), members("h1"), "until the homes have cut it off");
        with.fenced("h1", new Incarnation(11), "a", A);
        with.fenced("h2", new Incarnation(12), "a", A);
        assertEquals(List.of("b"), members("h1"));
        attach("b", B);
    }

    @Test
    void shouldCutOffOnlyFailedMembersOnTakeover() {
        with.membership.register("c", Fixture.node(5, 0));
        attach("a", A);
        attach("b", B);
        fail("a");
        AttachRequest takeover = new AttachRequest(new Incarnation(5), AttachMode.MEMBER).withTakeover();
        refused("space-torn", () -> attachments.attach("vm", "c", takeover));
        List<Fence> fences = with.fences("h1");
        assertEquals(1, fences.size(), fences::toString);
        assertTrue(fences.getFirst().isOf("a", A));
        attach("b", B);
    }

    @Test
    void shouldDeleteTheSpaceWhenItsLastMemberHasLeft() {
        attach("a", A);
        attach("b", B);
        ProblemException refused = refused("attached", () -> with.spaces.delete("vm", false));
        assertTrue(String.valueOf(refused.getMessage()).contains("as a member by a, b"), refused::getMessage);
        with.spaces.delete("vm", true);
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        assertTrue(space().deleting());
        attachments.detach("vm", "b", B, Detachment.PLAIN);
        assertEquals(List.of(), with.spaces.all());
    }

    @Test
    void shouldMakeNoSnapshotAndObeyNoWriter() {
        Snapshots snapshots = new Snapshots(with.ledger, with.time);
        refused("coherent", () -> snapshots.make("vm"));
        attach("a", A);
        refused(
                "coherent",
                () -> snapshots.makeOfGuest(
                        "vm", "a", new SnapshotRequest(A, "monday", "0123456789abcdef", 1, Optional.empty())));
        refused("coherent", () -> with.spaces.replicate("vm", new SpaceReplicas(3)));
        Hosted document = hosting.of("h1");
        ExtentEpoch extent =
                ExtentEpoch.of(document.spaces().getFirst().extents().getFirst());
        DropRequest drop = new DropRequest(A, "h1", new Incarnation(11), List.of(extent));
        refused("coherent", () -> new Drops(with.ledger).drop("vm", "a", drop));
    }

    @Test
    void shouldLeaveAUsedSpaceOnADrainedNode() {
        Drains drains = new Drains(with.ledger, new Copies(with.time));
        attach("a", A);
        with.spaces.create(request("plain", "h2"));
        with.membership.register("h3", Fixture.node(13, 64 * PAGE));
        drains.begin("h2");
        assertTrue(repairs.step() > 0, "the plain space moves");
        assertTrue(with.spaces.extents("vm").extents().stream()
                .allMatch(extent -> extent.joining().isEmpty()));
        List<String> reasons = drains.of("h2").reasons();
        assertTrue(reasons.stream().anyMatch(line -> line.contains(Coherence.STAYS)), reasons::toString);
        assertFalse(drains.of("h2").drained());
    }

    /** Each page of "two" is on h2 and h3. */
    private Extent twoHomes() {
        with.membership.register("h3", Fixture.node(13, 64 * PAGE));
        with.spaces.create(request("two", "h2", "h3").withReplicas(2).asCoherent());
        return with.spaces.extents("two").extents().getFirst();
    }

    private List<String> homesOfTwo() {
        return with.spaces.extents("two").extents().getFirst().homes().stream()
                .map(ExtentHome::node)
                .toList();
    }

    @Test
    void shouldDropTheFailedHomeOfAUsedSpace() {
        Extent before = twoHomes();
        attachments.attach("two", "a", new AttachRequest(A, AttachMode.MEMBER));
        assertEquals(0, repairs.step());
        assertEquals(2, homesOfTwo().size());
        String first = before.primary().node();
        String second = homesOfTwo().getLast();
        fail(first);
        repairs.step();
        assertEquals(List.of(second), homesOfTwo());
        assertEquals(
                before.epochNumber() + 1,
                with.spaces.extents("two").extents().getFirst().epochNumber());
        fail(second);
        repairs.step();
        assertEquals(List.of(second), homesOfTwo(), "the last home is never dropped");
    }

    @Test
    void shouldCutAMemberOffWithoutAHomeThatHasFailed() {
        twoHomes();
        attachments.attach("two", "a", new AttachRequest(A, AttachMode.MEMBER));
        attachments.attach("two", "b", new AttachRequest(B, AttachMode.MEMBER));
        fail("h3");
        with.membership.register("a", Fixture.node(4, 0));
        assertEquals(2, attachments.of("two").size());
        with.fenced("h2", new Incarnation(12), "a", A);
        assertEquals(
                List.of("b"),
                attachments.of("two").stream().map(Attachment::node).toList());
        assertEquals(List.of("h2"), homesOfTwo());
    }

    @Test
    void shouldGiveAnotherHomeToASpaceWhenItsMembersHaveLeft() {
        twoHomes();
        attachments.attach("two", "a", new AttachRequest(A, AttachMode.MEMBER));
        fail("h3");
        repairs.step();
        with.membership.register("h4", Fixture.node(14, 64 * PAGE));
        assertEquals(0, repairs.step(), "no home joins while the space has members");
        attachments.detach("two", "a", A, Detachment.PLAIN);
        assertTrue(repairs.step() > 0);
        assertEquals(
                Optional.of("h4"),
                with.spaces.extents("two").extents().getFirst().joining().map(ExtentHome::node));
        attachments.attach("two", "a", new AttachRequest(A, AttachMode.MEMBER));
        assertEquals(
                Optional.empty(),
                with.spaces.extents("two").extents().getFirst().joining());
    }

    @Test
    void shouldKeepOneHomeOfATornSpaceOnlyWhenItHasNoMembers() {
        twoHomes();
        attachments.attach("two", "a", new AttachRequest(A, AttachMode.MEMBER));
        attachments.attach("two", "b", new AttachRequest(B, AttachMode.MEMBER));
        AttachRequest force = new AttachRequest(B, AttachMode.MEMBER, Optional.of(true), Optional.of(Feature.words()));
        attachments.detach("two", "b", B, Detachment.torn("3 pages left"));
        attachments.attach("two", "b", force);
        assertEquals(2, homesOfTwo().size());
        attachments.detach("two", "b", B, Detachment.torn("3 pages left"));
        attachments.detach("two", "a", A, Detachment.PLAIN);
        attachments.attach("two", "b", force);
        assertEquals(1, homesOfTwo().size());
    }

    @Test
    void shouldMoveAnUnusedSpaceAwayFromADrainedNode() {
        with.membership.register("h3", Fixture.node(13, 64 * PAGE));
        new Drains(with.ledger, new Copies(with.time)).begin("h2");
        assertTrue(repairs.step() > 0);
    }

    @Test
    void shouldNameWhatACoherentSpaceCannotBe() {
        SpaceRequest plain = request("other", "h1");
        assertRefused("replicas: 3", () -> plain.withReplicas(3).asCoherent());
        assertRefused(
                "thin: true", () -> SpaceRequest.of("other", PAGE).asThin().asCoherent());
        assertRefused(
                "sizeBytes: " + (SpaceRequest.MOST_COHERENT_BYTES + PAGE),
                () -> SpaceRequest.of("other", SpaceRequest.MOST_COHERENT_BYTES + PAGE)
                        .asCoherent());
        assertRefused("loading: true", () -> plain.asLoading(Optional.empty()).asCoherent());
        assertRefused(
                "pageSize: 2097152",
                () -> new SpaceRequest("other", 2 << 20, OptionalInt.of(2 << 20), Optional.empty()).asCoherent());
        assertRefused(
                "keyId: 0123456789abcdef",
                () -> new SpaceRequest(
                                "other",
                                PAGE,
                                OptionalInt.empty(),
                                Optional.empty(),
                                Optional.of("0123456789abcdef"),
                                Optional.empty(),
                                OptionalInt.empty())
                        .asCoherent());
    }

    private static void assertRefused(String value, Runnable attempt) {
        String message = String.valueOf(
                assertThrows(IllegalArgumentException.class, attempt::run).getMessage());
        assertTrue(message.startsWith(value + ", but a coherent space"), message);
    }
}
