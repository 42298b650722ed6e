package io.farpage.agent.control.member;

import io.farpage.agent.data.coherence.CoherentHome;
import io.farpage.agent.data.coherence.HostedExtent;
import io.farpage.agent.data.coherence.MemberId;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes on to shard 0 which extents of coherent spaces the pool has, with their other homes and their members. A
 * member that must be cut off is left out at once, although its attachment is listed until all homes have done so. If
 * another incarnation has adopted its guest, that one is the member at once, and the directory keeps what it knows. One
 * thread.
 */
final class CoherentHosting {
    private static final Logger log = LoggerFactory.getLogger(CoherentHosting.class);

    private final CoherentHome home;
    private final Incarnation pool;
    private final Consumer<String> wantLink;
    /** Empty before the first document was followed. */
    private Optional<List<HostedExtent>> told = Optional.empty();

    private CompletableFuture<Void> applied = CompletableFuture.allOf();

    /**
     * @param pool as extents name it
     * @param wantLink called with each node that is a member or another home
     */
    CoherentHosting(CoherentHome home, Incarnation pool, Consumer<String> wantLink) {
        this.home = home;
        this.pool = pool;
        this.wantLink = wantLink;
    }

    /**
     * Passes on what a document lists, unless that is what was passed on last and did not fail.
     *
     * @return completes when shard 0 has applied it
     */
    CompletableFuture<Void> follow(Hosted hosted) {
        List<HostedExtent> now = hosted.spaces().stream()
                .filter(space -> space.space().isCoherent())
                .flatMap(space -> extents(
                        space,
                        isTorn(hosted, space.space()),
                        members(hosted, space.space().id())))
                .toList();
        now.stream().flatMap(CoherentHosting::peers).distinct().forEach(wantLink);
        if (hasFailed()) {
            log.error("{} extents of coherent spaces are not served; trying again", now.size(), applied.exceptionNow());
        }
        if (!told.equals(Optional.of(now)) || hasFailed()) {
            told = Optional.of(now);
            applied = home.host(now);
        }
        return applied;
    }

    private static Stream<String> peers(HostedExtent extent) {
        return Stream.concat(
                extent.members().stream().map(MemberId::node),
                extent.members().isEmpty()
                        ? Stream.empty()
                        : Stream.concat(extent.directory().stream(), extent.second().stream()));
    }

    /** Whether shard 0 has applied what was passed on last. */
    boolean isApplied() {
        return applied.state() == Future.State.SUCCESS;
    }

    /** Whether that failed, so that it must be passed on again. */
    boolean hasFailed() {
        return applied.state() == Future.State.FAILED;
    }

    /** Whether a member has ended without sending its pages home. One that is cut off has. */
    private static boolean isTorn(Hosted hosted, Space space) {
        return space.torn().isPresent()
                || hosted.fences().stream()
                        .anyMatch(fence -> fence.space() == space.id()
                                && hosted.attachments().stream()
                                        .noneMatch(each -> each.heir().isPresent() && isOf(fence, each)));
    }

    private static boolean isOf(Fence fence, HostedAttachment attachment) {
        return fence.space() == attachment.space() && fence.isOf(attachment.node(), attachment.incarnation());
    }

    private Stream<HostedExtent> extents(SpaceExtents space, boolean torn, Set<MemberId> members) {
        return space.extents().stream()
                .filter(extent -> extent.state() == ExtentState.OK)
                .flatMap(extent -> hosted(space.space().id(), extent, torn, members).stream());
    }

    /** An extent as the pool has it; empty if it is none of its homes. */
    private Optional<HostedExtent> hosted(long space, Extent extent, boolean torn, Set<MemberId> members) {
        // The id of a pool is drawn, so it names one in the cluster.
        return extent.homes().stream()
                .filter(place -> place.incarnation().equals(pool))
                .findFirst()
                .map(place -> new HostedExtent(
                        space,
                        extent.firstPage(),
                        Math.toIntExact(extent.count()),
                        place.offset(),
                        torn,
                        members,
                        Optional.of(extent.primary())
                                .filter(first -> !first.equals(place))
                                .map(ExtentHome::node),
                        extent.homes().stream()
                                .skip(1)
                                .findFirst()
                                .filter(_ -> extent.primary().equals(place))
                                .map(ExtentHome::node),
                        extent.epochNumber() > 0));
    }

    private static Set<MemberId> members(Hosted hosted, long space) {
        return hosted.attachments().stream()
                .filter(each -> each.space() == space)
                .filter(each -> each.mode().filter(AttachMode.MEMBER::equals).isPresent())
                .filter(each ->
                        each.heir().isPresent() || hosted.fences().stream().noneMatch(fence -> isOf(fence, each)))
                .map(each -> new MemberId(
                        each.node(), each.heir().orElse(each.incarnation()).value(), each.id()))
                .collect(Collectors.toUnmodifiableSet());
    }
}
