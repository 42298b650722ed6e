package io.farpage.coordinator.rebuild;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.rest.ProblemException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Reports of nodes: a has incarnation 1, b 2, c 3; each exports 64 pages. */
final class Reports {

    static final int PAGE = 4096;
    static final String CLUSTER = "0123456789abcdef0123456789abcdef";

    private Reports() {}

    static Registration registration(String node) {
        return Fixture.node(node.charAt(0) - 'a' + 1, 64L * PAGE);
    }

    static ExtentHome home(String node, long firstFrame) {
        return new ExtentHome(node, registration(node).incarnation(), firstFrame * PAGE);
    }

    static SpaceExtents space(long id, String name, Extent... extents) {
        long pages = List.of(extents).stream().mapToLong(Extent::count).sum();
        return new SpaceExtents(
                new Space(id, name, pages * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false), 10, List.of(extents));
    }

    static SpaceExtents space(long id, String name, String node, long firstFrame, long count) {
        return space(id, name, new Extent(0, count, List.of(home(node, firstFrame)), ExtentState.OK));
    }

    static String seen(long revision) {
        return Seen.parse(CLUSTER + "/7-0000000000000001/" + revision).toString();
    }

    static NodeReport report(String node, List<SpaceExtents> hosted) {
        return new NodeReport(
                Optional.of(seen(100)),
                registration(node),
                new Hosted(100, hosted, List.of(), List.of(), List.of(), List.of()),
                List.of(),
                List.of(),
                List.of(),
                List.of());
    }

    static NodeReport attached(String node, AttachMode mode, SpaceExtents... spaces) {
        return new NodeReport(
                Optional.of(seen(120)),
                registration(node),
                Hosted.NOTHING,
                List.of(spaces),
                List.of(spaces).stream()
                        .map(space -> new NodeReport.Held(space.space().id(), mode, Optional.empty(), false))
                        .toList(),
                List.of(),
                List.of());
    }

    static String refusal(Runnable attempt) {
        return String.valueOf(assertThrows(ProblemException.class, attempt::run).getMessage());
    }

    static SpaceExtents onBandC() {
        return space(
                5,
                "vm",
                new Extent(0, 4, List.of(home("b", 0)), ExtentState.OK),
                new Extent(4, 4, List.of(home("c", 0)), ExtentState.OK));
    }
}
