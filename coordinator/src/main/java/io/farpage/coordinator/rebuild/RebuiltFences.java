package io.farpage.coordinator.rebuild;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Fences that homes report, and those of agents that were started again. A home may have missed one before the
 * coordinator was lost, so a fence that any home knows is put for every home of the space. It is pending where the home
 * does not report that it has cut the incarnation off. As long as one is pending, the incarnation counts as attached
 * exclusively, or as a member of a coherent space, unless more is known of the node: nothing else keeps other nodes
 * from the space, and its attach mode is unknown. A home may have missed that an earlier incarnation was succeeded, or
 * was dropped for it, and its frames wait until it has executed the fence.
 */
final class RebuiltFences {
    private final Map<String, NodeReport> reports;
    private final Merge merge;
    private final EndedAttachments attachments;
    private final List<Fence> fences = new ArrayList<>();
    private final List<Attachment> pending = new ArrayList<>();
    private final List<NodeReport.Superseded> cutOff = new ArrayList<>();

    private record Target(long space, NodeReport.Superseded incarnation) {
        static Target of(long space, String node, Incarnation incarnation) {
            return new Target(space, new NodeReport.Superseded(node, incarnation));
        }

        boolean isOf(Attachment attachment) {
            return equals(of(attachment.space(), attachment.node(), attachment.incarnation()));
        }
    }

    RebuiltFences(Map<String, NodeReport> reports, Merge merge, EndedAttachments attachments) {
        this.reports = reports;
        this.merge = merge;
        this.attachments = attachments;
        Stream<Target> reported = reports.values().stream()
                .flatMap(report -> report.hosted().fences().stream())
                .map(fence -> Target.of(fence.space(), fence.node(), fence.incarnation()));
        Stream<Target> ended =
                attachments.cutOff().map(each -> Target.of(each.space(), each.node(), each.incarnation()));
        Stream.concat(ended, reported).distinct().forEach(this::add);
    }

    private void add(Target target) {
        cutOff.add(target.incarnation());
        SpaceExtents space = merge.spaces().get(target.space());
        if (space == null) {
            return;
        }
        String node = target.incarnation().node();
        Optional<NodeReport> own = Optional.ofNullable(reports.get(node))
                .filter(report -> report.registration()
                        .incarnation()
                        .equals(target.incarnation().incarnation()));
        if (own.isPresent() && own.get().attachments().stream().noneMatch(held -> held.space() == target.space())) {
            return; // It has detached by itself, which ends its fences.
        }
        Optional<Attachment> known = attachments.cutOff().filter(target::isOf).findFirst();
        boolean passes = known.flatMap(Attachment::heir).isPresent();
        // It passes when the last home says that it has cut the incarnation off, so all of them are asked again.
        List<Fence> ofHomes = merge.homes(target.space()).stream()
                // A home need not cut off its own process before, which has ended.
                .filter(home -> own.isPresent() || !home.equals(node))
                .map(home -> fence(home, target))
                .map(fence -> passes ? fence.withAcknowledged(false) : fence)
                .toList();
        boolean isPending = ofHomes.stream().anyMatch(fence -> !fence.acknowledged());
        if (!isPending && own.isEmpty()) {
            return; // It is cut off everywhere and cannot come back.
        }
        fences.addAll(ofHomes);
        if (isPending) {
            pending.add(known.orElseGet(() ->
                    new Attachment(target.space(), node, target.incarnation().incarnation(), mode(space), 0)));
        }
    }

    private static AttachMode mode(SpaceExtents of) {
        return of.space().isCoherent() ? AttachMode.MEMBER : AttachMode.EXCLUSIVE;
    }

    private Fence fence(String home, Target target) {
        NodeReport report = Optional.ofNullable(reports.get(home)).orElseThrow();
        boolean done = report.hosted().fences().stream()
                .anyMatch(fence -> fence.acknowledged()
                        && fence.isOf(
                                target.incarnation().node(),
                                target.incarnation().incarnation()));
        return new Fence(
                home,
                report.registration().incarnation(),
                target.space(),
                target.incarnation().node(),
                target.incarnation().incarnation(),
                done);
    }

    List<Fence> fences() {
        return List.copyOf(fences);
    }

    /** What counts as attached until the homes have executed the fences, those first whose attachment is known. */
    List<Attachment> pending() {
        return List.copyOf(pending);
    }

    /** The incarnations that fences are about. */
    List<NodeReport.Superseded> cutOff() {
        return List.copyOf(cutOff);
    }
}
