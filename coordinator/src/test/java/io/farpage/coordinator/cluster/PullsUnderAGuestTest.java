package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.HostedPull;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Homes that join extents of a space that an agent is attached to, which notes the pages that it writes, and copy the
 * pages themselves.
 */
class PullsUnderAGuestTest {
    private static final int PAGE = 4096;
    private static final long POOL = 16L * PAGE;
    private static final Incarnation WRITER = new Incarnation(2);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);
    private final Drains drains = new Drains(with.ledger, new Copies(with.time));
    private final Hosting hosting = new Hosting(with.ledger, new Grants(with.ledger));

    /** Homes h1 to h3, and a guest on node w whose pages live on h1, which is drained. */
    private void drain() {
        attach("h1");
        drains.begin("h1");
        repairs.step();
    }

    private void attach(String... homes) {
        for (String node : List.of("h1", "h2", "h3")) {
            with.membership.register(node, Fixture.node(incarnation(node).value(), POOL));
        }
        with.membership.register("w", Fixture.node(WRITER.value(), 0));
        with.spaces.create(new SpaceRequest("vm", 8L * PAGE, OptionalInt.empty(), Optional.of(List.of(homes)))
                .withReplicas(homes.length));
        attachments.attach("vm", "w", new AttachRequest(WRITER, AttachMode.EXCLUSIVE));
    }

    /** The leases of all homes run out but of these. */
    private void expire(String... living) {
        with.time.advance(Fixture.LEASE.plusSeconds(1));
        List.of(living).forEach(node -> with.membership.heartbeat(node, incarnation(node)));
        with.membership.heartbeat("w", WRITER);
        with.membership.expire();
    }

    private static Incarnation incarnation(String node) {
        return new Incarnation(10 + node.charAt(1));
    }

    private Extent first() {
        return with.spaces.extents("vm").extents().getFirst();
    }

    private String joining() {
        return first().joining().map(ExtentHome::node).orElseThrow();
    }

    private static Set<String> names(Extent extent) {
        return extent.homes().stream().map(ExtentHome::node).collect(Collectors.toSet());
    }

    private void allow() {
        repairs.allowPulls("vm", "w", new WriterRequest(WRITER, List.of(ExtentEpoch.of(first()))));
    }

    private void promote() {
        repairs.promote("vm", "w", new WriterRequest(WRITER, List.of(ExtentEpoch.of(first()))));
    }

    private void report(String node, Optional<String> failure) {
        long space = with.spaces.extents("vm").space().id();
        try {
            repairs.pulled(node, new PullReport(incarnation(node), space, ExtentEpoch.of(first()), failure));
        } finally {
            repairs.settled(space);
        }
    }

    private List<String> pulls(String node) {
        return hosting.of(node).pulls().stream().map(HostedPull::node).toList();
    }

    private static boolean refusedAs(String word, Runnable refused) {
        return assertThrows(ProblemException.class, refused::run).problem("").is(word);
    }

    @Test
    void shouldListThePullOnlyWhileItIsAllowedAndNotDone() {
        drain();
        String to = joining();
        assertEquals(Optional.of(PullState.AWAITED), first().pull());
        assertEquals(List.of(), pulls(to), "the writer may have WRITEs under way that it has not noted");
        allow();
        assertEquals(Optional.of(PullState.RUNNING), first().pull());
        assertEquals(List.of(to), pulls(to));
        assertEquals(List.of(to), pulls("h1"), "the home grants the reads");
        report(to, Optional.empty());
        assertEquals(Optional.of(PullState.DONE), first().pull());
        assertEquals(List.of(), pulls(to), "a pull that began again would overwrite what the writer has copied");
        assertEquals(Set.of("h1"), names(first()), "the writer has still to copy what it wrote meanwhile");
        promote();
        assertEquals(Set.of(to), names(first()));
        assertEquals(Optional.empty(), first().pull());
    }

    @Test
    void shouldPromoteNoHomeThatIsStillPulling() {
        drain();
        assertTrue(refusedAs("no-such-home", this::promote));
        allow();
        assertTrue(refusedAs("no-such-home", this::promote));
    }

    @Test
    void shouldTakeNoReportOfAPullThatWasNotAllowed() {
        drain();
        assertTrue(refusedAs("not-begun", () -> report(joining(), Optional.empty())));
        assertEquals(Optional.of(PullState.AWAITED), first().pull());
    }

    @Test
    void shouldStayDoneWhenAllowedOrReportedAgain() {
        drain();
        String to = joining();
        allow();
        report(to, Optional.empty());
        report(to, Optional.empty());
        allow();
        assertEquals(Optional.of(PullState.DONE), first().pull());
    }

    @Test
    void shouldHaveAnotherNodeJoinAfterAPullHasFailed() {
        drain();
        String to = joining();
        allow();
        report(to, Optional.of("no page has come"));
        assertEquals(Optional.empty(), first().joining());
        with.time.advance(Duration.ofSeconds(2));
        repairs.step();
        assertTrue(!joining().equals(to), "another node joins: " + joining());
        assertEquals(Optional.of(PullState.AWAITED), first().pull());
    }

    /** The home may still be reached by the writer, and not by the coordinator, which hands on the grant of a pull. */
    @Test
    void shouldLetNoHomeJoinWhenTheOnlyHomeHasFailed() {
        drain();
        drains.cancel("h1");
        repairs.step();
        expire("h2", "h3");
        with.time.advance(Repairs.PAUSE.plusSeconds(1));
        assertEquals(0, repairs.step());
        assertTrue(
                drains.of("h1").reasons().stream().anyMatch(text -> text.contains("no home of the pages is alive")),
                () -> drains.of("h1").toString());
    }

    @Test
    void shouldDropAHomeThatPullsWhenItsLeaseRunsOut() {
        drain();
        String to = joining();
        allow();
        expire("h1", to.equals("h2") ? "h3" : "h2");
        repairs.step();
        assertTrue(first().joining().filter(home -> home.node().equals(to)).isEmpty(), first()::toString);
    }

    /** It was to replace a home that has failed, so no live one is lost with it. */
    @Test
    void shouldDropAHomeThatPullsWhenBothItAndTheOneBeforeItFail() {
        attach("h1", "h2");
        expire("h2", "h3");
        repairs.step();
        assertEquals("h3", joining());
        allow();
        expire("h2");
        repairs.step();
        assertEquals(Optional.empty(), first().joining());
    }

    @Test
    void shouldEndThePullWithTheAttachment() {
        drain();
        String to = joining();
        Extent before = first();
        allow();
        attachments.detach("vm", "w", WRITER, Detachment.PLAIN);
        assertEquals(Optional.empty(), first().joining());
        assertEquals(List.of(), pulls(to));
        long space = with.spaces.extents("vm").space().id();
        PullReport late = new PullReport(incarnation(to), space, ExtentEpoch.of(before), Optional.empty());
        assertTrue(refusedAs("stale-epoch", () -> repairs.pulled(to, late)));
    }

    @Test
    void shouldKeepHowFarAPullHasComeOverARestart() {
        drain();
        allow();
        Extent before = first();
        with.restart();
        assertEquals(before, first());
    }
}
