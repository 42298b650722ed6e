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
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.rest.ProblemException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Reports of nodes as of revision 100: a has incarnation 1, b 2, c 3; each exports 64 pages. */
final class Reports {

    static final int PAGE = 4096;
    static final long REVISION = 100;
    static final long INDEX = 40;
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
                new Space(id, name, pages * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false),
                REVISION,
                List.of(extents));
    }

    static SpaceExtents space(long id, String name, String node, long firstFrame, long count) {
        return space(id, name, new Extent(0, count, List.of(home(node, firstFrame)), ExtentState.OK));
    }

    /** A space as it is at another revision than {@link #REVISION}. */
    static SpaceExtents asOf(long revision, SpaceExtents space) {
        return new SpaceExtents(space.space(), revision, space.extents());
    }

    static String seen(long revision) {
        return Seen.parse(CLUSTER + "/7-0000000000000001/" + revision).toString();
    }

    static NodeReport report(String node, List<SpaceExtents> hosted) {
        return report(node, REVISION, hosted);
    }

    /** The report of a home that was given its document at a revision. */
    static NodeReport report(String node, long revision, List<SpaceExtents> hosted) {
        return report(
                node,
                hosted(
                        revision,
                        hosted.stream().map(space -> asOf(revision, space)).toList(),
                        List.of()));
    }

    static Hosted hosted(long revision, List<SpaceExtents> spaces, List<Release> releases) {
        return new Hosted(revision, spaces, List.of(), List.of(), List.of(), releases);
    }

    /** An attachment that does not end, to a space that is not torn. */
    static NodeReport.Held held(long space, AttachMode mode) {
        return new NodeReport.Held(space, mode, Optional.empty(), false);
    }

    static NodeReport report(String node, Hosted hosted, Release... released) {
        return new NodeReport(
                Optional.of(seen(hosted.revision())),
                INDEX,
                registration(node),
                hosted,
                List.of(),
                List.of(),
                List.of(released),
                List.of(),
                Optional.empty(),
                Optional.empty());
    }

    static NodeReport attached(String node, AttachMode mode, SpaceExtents... spaces) {
        return attached(
                node,
                List.of(spaces),
                List.of(spaces).stream()
                        .map(space -> held(space.space().id(), mode))
                        .toList());
    }

    static NodeReport attached(String node, List<SpaceExtents> spaces, List<NodeReport.Held> attachments) {
        return new NodeReport(
                Optional.of(seen(120)),
                INDEX,
                registration(node),
                Hosted.NOTHING,
                spaces,
                attachments,
                List.of(),
                List.of(),
                Optional.empty(),
                Optional.empty());
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
