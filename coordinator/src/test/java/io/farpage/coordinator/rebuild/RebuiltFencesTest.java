package io.farpage.coordinator.rebuild;

import static io.farpage.coordinator.rebuild.Reports.PAGE;
import static io.farpage.coordinator.rebuild.Reports.onBandC;
import static io.farpage.coordinator.rebuild.Reports.refusal;
import static io.farpage.coordinator.rebuild.Reports.registration;
import static io.farpage.coordinator.rebuild.Reports.report;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.Attachments;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.cluster.Grants;
import io.farpage.coordinator.cluster.Hosting;
import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.cluster.Time;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a rebuild leaves of fences, and of incarnations that agents saw replaced. */
class RebuiltFencesTest {

    private final Store store;

    RebuiltFencesTest(@TempDir Path directory) {
        this.store = MvStore.open(directory.resolve("store"));
    }

    @AfterEach
    void close() {
        store.close();
    }

    private State state() {
        return new Ledger(store, 10, nanos -> {}).state();
    }

    private static NodeReport withFences(NodeReport report, Fence... fences) {
        return new NodeReport(
                report.seen(),
                report.index(),
                report.registration(),
                report.hosted().withFences(List.of(fences)),
                report.attached(),
                report.attachments(),
                report.released(),
                List.of(),
                Optional.empty(),
                Optional.empty());
    }

    private static NodeReport withSuperseded(NodeReport report, NodeReport.Superseded... old) {
        return new NodeReport(
                report.seen(),
                report.index(),
                report.registration(),
                report.hosted(),
                report.attached(),
                report.attachments(),
                report.released(),
                List.of(old),
                Optional.empty(),
                Optional.empty());
    }

    private static Fence fence(String home, long space, String node, long incarnation, boolean acknowledged) {
        return new Fence(
                home, registration(home).incarnation(), space, node, new Incarnation(incarnation), acknowledged);
    }

    /** Home b was told to cut incarnation 9 of node a off and has done it; home c had not been told. */
    @Test
    void shouldRefuseToAttachUntilEveryHomeHasCutOffTheFencedNode() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of()));
        rebuild.report("b", withFences(report("b", List.of(onBandC())), fence("b", 5, "a", 9, true)));
        rebuild.report("c", report("c", List.of(onBandC())));
        rebuild.finish(Set.of());

        Ledger ledger = new Ledger(store, 10, nanos -> {});
        Attachments attachments = new Attachments(ledger, Time.system());
        Hosting hosting = new Hosting(ledger, new Grants(ledger));
        assertEquals(List.of(fence("b", 5, "a", 9, true)), hosting.of("b").fences());
        assertEquals(List.of(fence("c", 5, "a", 9, false)), hosting.of("c").fences());
        AttachRequest exclusive = new AttachRequest(
                new Incarnation(3), AttachMode.EXCLUSIVE, Optional.of(true), Optional.of(Feature.words()));
        assertTrue(refusal(() -> attachments.attach("vm", "c", exclusive)).contains("'c' must cut off first"));
        hosting.acknowledge(
                "c",
                new HostedAck(
                        new Incarnation(3),
                        hosting.of("c").revision(),
                        List.of(new HostedAck.Fenced("a", new Incarnation(9))),
                        List.of()));
        attachments.attach("vm", "c", exclusive);
        assertEquals(
                List.of(new Incarnation(9)),
                ledger.state().retired().values().stream()
                        .flatMap(retired -> retired.incarnations().stream())
                        .toList(),
                "the incarnation that is cut off must not register again");
    }

    @Test
    void shouldForgetAFenceThatAllHomesExecutedOnARetiredNode() {
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

    @Test
    void shouldCountAFencedIncarnationAsMemberOfCoherentSpace() {
        SpaceExtents plain = onBandC();
        SpaceExtents coherent = new SpaceExtents(plain.space().withCoherent(), plain.revision(), plain.extents());
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("a", report("a", List.of()));
        rebuild.report("b", withFences(report("b", List.of(coherent)), fence("b", 5, "a", 9, true)));
        rebuild.report("c", report("c", List.of(coherent)));
        rebuild.finish(Set.of());

        Attachments attachments = new Attachments(new Ledger(store, 10, nanos -> {}), Time.system());
        assertEquals(AttachMode.MEMBER, attachments.of("vm").getFirst().mode());
        attachments.attach("vm", "c", new AttachRequest(new Incarnation(3), AttachMode.MEMBER));
    }
}
