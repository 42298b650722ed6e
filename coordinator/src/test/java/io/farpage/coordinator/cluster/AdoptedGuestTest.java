package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The agent of a running guest is killed and comes again in another incarnation, which has adopted the guest. */
class AdoptedGuestTest {

    private static final int PAGE = 4096;
    private static final long BEFORE = 21;
    private static final long NOW = 22;
    private static final long HOME = 11;

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);

    @BeforeEach
    void attachAGuest() {
        with.membership.register("h", Fixture.node(HOME, 16 * PAGE));
        with.membership.register("g", Fixture.node(BEFORE, 4 * PAGE));
        with.membership.register("z", Fixture.node(31, 0));
        with.spaces.create(new SpaceRequest("vm", 8L * PAGE, OptionalInt.empty(), Optional.of(List.of("h"))));
        attach("g", request(BEFORE));
    }

    private static AttachRequest request(long incarnation) {
        return new AttachRequest(new Incarnation(incarnation), AttachMode.EXCLUSIVE);
    }

    private Attachment attach(String node, AttachRequest request) {
        return attachments.attach("vm", node, request);
    }

    private void start(long incarnation, long... adopts) {
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
                                new PoolInfo(4 * PAGE, PAGE, Optional.of(new Incarnation(BEFORE))),
                                plain.transports(),
                                plain.linkKey(),
                                plain.status(),
                                Optional.empty(),
                                Optional.empty())
                        .withAdopted(Arrays.stream(adopts).boxed().toList()));
    }

    private long space() {
        return with.spaces.require("vm").id();
    }

    private AttachRequest adopting(long incarnation, long earlier) {
        return request(incarnation).withAdopted(new Incarnation(earlier));
    }

    private void acknowledge(long fenced) {
        with.fenced("h", new Incarnation(HOME), "g", new Incarnation(fenced));
    }

    private String refusal(String node, AttachRequest request) {
        ProblemException refused = assertThrows(ProblemException.class, () -> attach(node, request));
        for (String type : List.of("fencing", "not-adopted", "attached", "space-torn", "taken-over")) {
            if (refused.problem("").is(type)) {
                return type;
            }
        }
        return refused.toString();
    }

    private List<Incarnation> holders() {
        return attachments.of("vm").stream().map(Attachment::incarnation).toList();
    }

    private boolean isTorn() {
        return with.spaces.require("vm").torn().isPresent();
    }

    @Test
    void shouldPassAttachmentToSuccessorWhenHomesHaveCutKilledOneOff() {
        start(NOW, space());
        assertEquals("fencing", refusal("g", adopting(NOW, BEFORE)));
        assertEquals("fencing", refusal("z", request(31)), "no other node comes in between");
        acknowledge(BEFORE);
        assertEquals(new Incarnation(NOW), attach("g", adopting(NOW, BEFORE)).incarnation());
        assertEquals(List.of(new Incarnation(NOW)), holders());
        assertEquals(List.of(), with.fences("h"));
        assertEquals("attached", refusal("z", request(31)));
        assertTrue(!isTorn());
        attach("g", request(NOW));
    }

    @Test
    void shouldTearTheSpaceOfAGuestThatTheSuccessorHasNotAdopted() {
        start(NOW);
        assertTrue(isTorn());
        assertEquals("not-adopted", refusal("g", adopting(NOW, BEFORE)));
        acknowledge(BEFORE);
        assertEquals("not-adopted", refusal("g", adopting(NOW, BEFORE)));
        assertEquals(List.of(), holders());
    }

    @Test
    void shouldPassAttachmentOnWhenSuccessorIsKilledBeforeAdoption() {
        start(NOW, space());
        start(NOW + 1, space());
        assertEquals("not-adopted", refusal("z", adopting(31, BEFORE)));
        acknowledge(BEFORE);
        assertEquals(List.of(new Incarnation(NOW + 1)), holders());
        start(NOW + 2, space());
        acknowledge(NOW + 1);
        assertEquals(List.of(new Incarnation(NOW + 2)), holders());
        assertTrue(!isTorn());
    }

    /** The guest's record still names the first process. */
    @Test
    void shouldPassAttachmentOnWhenSuccessorIsKilledBeforeItsRecord() {
        start(NOW, space());
        acknowledge(BEFORE);
        attach("g", adopting(NOW, BEFORE));
        start(NOW + 1, space());
        assertEquals("fencing", refusal("g", adopting(NOW + 1, BEFORE)));
        acknowledge(NOW);
        assertEquals(
                new Incarnation(NOW + 1), attach("g", adopting(NOW + 1, BEFORE)).incarnation());
        assertTrue(!isTorn());
    }

    @Test
    void shouldTearTheSpaceWhenALaterSuccessorDoesNotAdoptTheGuest() {
        start(NOW, space());
        start(NOW + 1);
        assertTrue(isTorn());
        acknowledge(BEFORE);
        assertEquals(List.of(), holders());
        assertEquals("not-adopted", refusal("g", adopting(NOW + 1, BEFORE)));
    }

    @Test
    void shouldNotPassAnAttachmentOnThatWasTakenOver() {
        with.time.advance(Fixture.LEASE.plus(Duration.ofSeconds(1)));
        with.membership.heartbeat("h", new Incarnation(HOME));
        with.membership.heartbeat("z", new Incarnation(31));
        with.membership.expire();
        assertEquals("fencing", refusal("z", request(31).withTakeover()));
        start(NOW, space());
        assertEquals("not-adopted", refusal("g", adopting(NOW, BEFORE)));
        acknowledge(BEFORE);
        assertEquals("not-adopted", refusal("g", adopting(NOW, BEFORE)));
        assertEquals(List.of(), holders());
    }

    @Test
    void shouldEndTheAttachmentOfASpaceThatIsDeletedMeanwhile() {
        start(NOW, space());
        with.spaces.delete("vm", true);
        acknowledge(BEFORE);
        assertThrows(ProblemException.class, () -> attach("g", adopting(NOW, BEFORE)));
        assertEquals(
                List.of(), with.ledger.state().attachments().values().stream().toList());
    }

    @Test
    void shouldTakeTheSpaceOfASuccessorThatHasFailed() {
        start(NOW, space());
        acknowledge(BEFORE);
        with.time.advance(Fixture.LEASE.plus(Duration.ofSeconds(1)));
        with.membership.heartbeat("h", new Incarnation(HOME));
        with.membership.heartbeat("z", new Incarnation(31));
        with.membership.expire();
        assertEquals("fencing", refusal("z", request(31).withTakeover()));
        acknowledge(NOW);
        assertEquals("space-torn", refusal("z", request(31)));
    }

    private void attachAMirroredGuest() {
        attachments.detach("vm", "g", new Incarnation(BEFORE), Detachment.PLAIN);
        with.spaces.delete("vm", false);
        with.membership.register("i", Fixture.node(12, 8 * PAGE));
        with.spaces.create(
                new SpaceRequest("vm", 4L * PAGE, OptionalInt.empty(), Optional.of(List.of("h", "i"))).withReplicas(2));
        attach("g", request(BEFORE));
    }

    private Extent extent() {
        return with.spaces.extents("vm").extents().getFirst();
    }

    private List<String> homes() {
        return extent().homes().stream().map(ExtentHome::node).sorted().toList();
    }

    private void expireBeside(String... alive) {
        with.time.advance(Fixture.LEASE.plus(Duration.ofSeconds(1)));
        for (String node : alive) {
            with.membership.heartbeat(
                    node, with.membership.node(node).orElseThrow().incarnation());
        }
        with.membership.expire();
    }

    @Test
    void shouldDropFailedHomeWhenTheOtherHasCutTheKilledProcessOff() {
        attachAMirroredGuest();
        start(NOW, space());
        acknowledge(BEFORE);
        assertEquals(
                "fencing", refusal("g", adopting(NOW, BEFORE)), "its lease runs: it may be cut off by the network");
        expireBeside("g", "h", "z");
        assertEquals(List.of(new Incarnation(NOW)), holders());
        assertEquals(List.of("h"), homes());
        assertEquals(1, extent().epochNumber());
        assertEquals(1, with.fences("i").size(), "it cuts the killed process off if it comes again");
        assertTrue(!isTorn());
        attach("g", adopting(NOW, BEFORE));
        with.fenced("i", new Incarnation(12), "g", new Incarnation(BEFORE));
        assertEquals(List.of(), with.fences("i"));
        assertEquals(List.of(new Incarnation(NOW)), holders());
    }

    @Test
    void shouldDropAHomeThatHasFailedBeforeTheProcessWasKilled() {
        attachAMirroredGuest();
        expireBeside("g", "h", "z");
        start(NOW, space());
        assertEquals(List.of("h", "i"), homes());
        acknowledge(BEFORE);
        assertEquals(List.of("h"), homes());
        assertEquals(List.of(new Incarnation(NOW)), holders());
    }

    @Test
    void shouldDropNoHomeWhenAllHaveFailed() {
        attachAMirroredGuest();
        start(NOW, space());
        acknowledge(BEFORE);
        expireBeside("g", "z");
        assertEquals("fencing", refusal("g", adopting(NOW, BEFORE)));
        assertEquals(List.of("h", "i"), homes());
        with.fenced("i", new Incarnation(12), "g", new Incarnation(BEFORE));
        assertEquals(List.of(new Incarnation(NOW)), holders());
    }

    @Test
    void shouldWaitForTheOnlyHomeThoughItHasFailed() {
        start(NOW, space());
        expireBeside("g", "z");
        assertEquals("fencing", refusal("g", adopting(NOW, BEFORE)));
        assertEquals(List.of("h"), homes());
    }

    @Test
    void shouldDropTheHomeThatJoinsWhenTheAttachmentPasses() {
        attachAMirroredGuest();
        with.membership.register("j", Fixture.node(13, 8 * PAGE));
        new Drops(with.ledger)
                .drop(
                        "vm",
                        "g",
                        new DropRequest(
                                new Incarnation(BEFORE), "i", new Incarnation(12), List.of(ExtentEpoch.of(extent()))));
        new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO).step();
        assertEquals(Optional.of("j"), extent().joining().map(ExtentHome::node));
        start(NOW, space());
        for (String home : List.of("h", "i", "j")) {
            with.fenced(home, with.membership.node(home).orElseThrow().incarnation(), "g", new Incarnation(BEFORE));
        }
        assertEquals(List.of(new Incarnation(NOW)), holders());
        assertEquals(Optional.empty(), extent().joining(), "it may lack what only the killed process knew");
        assertEquals(List.of("h"), homes());
        assertEquals(List.of(), extent().droppedHomes());
    }

    @Test
    void shouldKeepTheHeirInTheStore() {
        start(NOW, space());
        with.restart();
        with.fenced("h", new Incarnation(HOME), "g", new Incarnation(BEFORE));
        assertEquals(
                List.of(new Incarnation(NOW)),
                new Attachments(with.ledger, with.time)
                        .of("vm").stream().map(Attachment::incarnation).toList());
    }
}
