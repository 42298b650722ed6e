package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An agent that was killed comes again in another incarnation, with the pool that the first one made. */
class AdoptedPoolTest {

    private static final int PAGE = 4096;
    private static final long POOL = 11;
    private static final long SUCCESSOR = 12;

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);

    @BeforeEach
    void makeASpaceOnTwoHomes() {
        with.membership.register("h", Fixture.node(POOL, 4 * PAGE));
        with.membership.register("other", Fixture.node(5, 4 * PAGE));
        with.membership.register("a", Fixture.node(2, 0));
        with.spaces.create(new SpaceRequest("vm", 8L * PAGE, OptionalInt.empty(), Optional.of(List.of("h", "other"))));
    }

    private static Registration adopting(long incarnation, long pool, long bytes) {
        Registration plain = Fixture.node(incarnation, bytes);
        return new Registration(
                plain.incarnation(),
                plain.hostname(),
                plain.address(),
                plain.cpus(),
                plain.memoryBytes(),
                plain.devices(),
                new PoolInfo(bytes, PAGE, Optional.of(new Incarnation(pool))),
                plain.transports(),
                plain.linkKey(),
                plain.status(),
                Optional.empty(),
                Optional.empty());
    }

    private void adopt(long incarnation) {
        with.membership.register("h", adopting(incarnation, POOL, 4 * PAGE));
    }

    private List<ExtentState> states() {
        return with.ledger.state().extentsOf(with.spaces.require("vm")).stream()
                .map(Extent::state)
                .toList();
    }

    private void attach(String node, long incarnation) {
        attachments.attach(
                "vm",
                node,
                new AttachRequest(
                        new Incarnation(incarnation), AttachMode.EXCLUSIVE, Optional.empty(), Optional.empty()));
    }

    private static List<String> shown(List<Fence> fences) {
        return fences.stream()
                .map(fence -> "%s of %s at %s%s"
                        .formatted(
                                fence.incarnation().value(),
                                fence.node(),
                                fence.homeIncarnation().value(),
                                fence.acknowledged() ? ", done" : ""))
                .toList();
    }

    @Test
    void shouldKeepTheExtentsOfAPoolThatASuccessorHasAdopted() {
        adopt(SUCCESSOR);
        adopt(SUCCESSOR + 1);
        assertEquals(List.of(ExtentState.OK, ExtentState.OK), states());
        assertEquals(0, with.freeBytes(with.membership.node("h").orElseThrow()), "their room is taken");
    }

    @Test
    void shouldPlaceNewExtentsUnderTheAdoptedPoolsIncarnation() {
        with.membership.register("big", Fixture.node(7, 4 * PAGE));
        with.membership.register("big", adopting(8, 7, 4 * PAGE));
        with.spaces.create(new SpaceRequest("late", 2L * PAGE, OptionalInt.empty(), Optional.of(List.of("big"))));
        assertEquals(
                new Incarnation(7),
                with.ledger
                        .state()
                        .extentsOf(with.spaces.require("late"))
                        .getFirst()
                        .primary()
                        .incarnation());
        assertEquals(2 * PAGE, with.freeBytes(with.membership.node("big").orElseThrow()));
    }

    @Test
    void shouldLoseTheExtentsWhenTheSuccessorHasAnEmptyPool() {
        with.membership.register("h", Fixture.node(SUCCESSOR, 4 * PAGE));
        assertEquals(List.of(ExtentState.LOST, ExtentState.OK), states());
    }

    @Test
    void shouldRefuseAPoolWhosePagesAreLostAlready() {
        with.membership.register("h", Fixture.node(SUCCESSOR, 4 * PAGE));
        ProblemException replaced = assertThrows(ProblemException.class, () -> adopt(SUCCESSOR + 1));
        assertTrue(replaced.problem("").is("pool-retired"), replaced::getMessage);

        with.membership.deregister("h", new Incarnation(SUCCESSOR), true);
        ProblemException unknown = assertThrows(ProblemException.class, () -> adopt(SUCCESSOR + 1));
        assertTrue(unknown.problem("").is("pool-retired"), unknown::getMessage);
    }

    @Test
    void shouldRefuseAnAdoptedPoolOfAnotherSize() {
        ProblemException refused = assertThrows(
                ProblemException.class, () -> with.membership.register("h", adopting(SUCCESSOR, POOL, 8 * PAGE)));
        assertTrue(refused.problem("").is("pool-changed"), refused::getMessage);
        assertEquals(List.of(ExtentState.OK, ExtentState.OK), states());
    }

    @Test
    void shouldRefuseTheProcessThatWasSucceeded() {
        adopt(SUCCESSOR);
        ProblemException refused =
                assertThrows(ProblemException.class, () -> with.membership.register("h", Fixture.node(POOL, 4 * PAGE)));
        assertTrue(refused.problem("").is("stale-incarnation"), refused::getMessage);
        assertThrows(ProblemException.class, () -> with.membership.heartbeat("h", new Incarnation(POOL)));
    }

    @Test
    void shouldDropWhatWentWithTheProcess() {
        with.links.publish("h", "a", Fixture.endpoint(POOL, 2, 1));
        with.links.publish("a", "h", Fixture.endpoint(2, POOL, 2));
        adopt(SUCCESSOR);
        assertEquals(List.of(), List.copyOf(with.ledger.state().endpoints().values()));
    }

    @Test
    void shouldFenceAttachmentsOfDeadProcessAtOtherHomesAndTearSpace() {
        attach("h", POOL);
        adopt(SUCCESSOR);
        assertEquals(List.of("11 of h at 5"), shown(with.fences("other")));
        assertEquals(List.of(), with.fences("h"), "the process is dead, and copied to its own pool itself");
        assertTrue(with.spaces.require("vm").torn().isPresent());

        with.fenced("other", new Incarnation(5), "h", new Incarnation(POOL));
        assertEquals(List.of(), attachments.of("vm"));
    }

    @Test
    void shouldTellTheSuccessorOfEveryFence() {
        attach("a", 2);
        with.membership.deregister("a", new Incarnation(2), true);
        assertEquals(List.of("2 of a at 11"), shown(with.fences("h")));
        adopt(SUCCESSOR);
        assertEquals(List.of("2 of a at 12"), shown(with.fences("h")));
        with.fenced("h", new Incarnation(SUCCESSOR), "a", new Incarnation(2));
        with.fenced("other", new Incarnation(5), "a", new Incarnation(2));
        assertEquals(List.of(), attachments.of("vm"));
    }

    @Test
    void shouldRepeatAcknowledgedFencesAtTheSuccessor() {
        attach("a", 2);
        with.time.advance(Fixture.LEASE.plus(Duration.ofSeconds(1)));
        with.membership.heartbeat("h", new Incarnation(POOL));
        with.membership.heartbeat("other", new Incarnation(5));
        with.membership.expire();
        with.spaces.delete("vm", true);
        with.fenced("h", new Incarnation(POOL), "a", new Incarnation(2));
        assertEquals(List.of("2 of a at 11, done"), shown(with.fences("h")));
        adopt(SUCCESSOR);
        assertEquals(List.of("2 of a at 12"), shown(with.fences("h")), "its queue pairs are new");
    }

    @Test
    void shouldKeepReleasesThatAreNotCarriedOut() {
        long id = with.spaces.require("vm").id();
        with.spaces.delete("vm", false);
        adopt(SUCCESSOR);
        assertEquals(
                List.of(id),
                with.zeroable("h").stream().map(release -> release.space()).toList());
        assertEquals(0, with.freeBytes(with.membership.node("h").orElseThrow()));
    }

    @Test
    void shouldKeepAttachmentsOfOtherNodes() {
        attach("a", 2);
        adopt(SUCCESSOR);
        assertEquals(
                List.of("a"),
                attachments.of("vm").stream().map(Attachment::node).toList());
        assertTrue(with.spaces.require("vm").torn().isEmpty());
    }
}
