package io.farpage.coordinator.rebuild;

import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.store.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Fences that homes report. A home may have missed one before the coordinator was lost, so a fence that any home knows
 * is put for every home of the space. It is pending where the home does not report that it has cut the incarnation off.
 * As long as one is pending, the incarnation counts as attached exclusively: nothing else keeps other nodes from the
 * space, and its attach mode is unknown.
 */
final class RebuiltFences {
    private final Map<String, NodeReport> reports;
    private final Merge merge;
    private final List<Row> rows = new ArrayList<>();
    private final List<NodeReport.Superseded> cutOff = new ArrayList<>();

    /** A row to be written. */
    record Row(Table table, String key, Object value) {}

    private record Target(long space, NodeReport.Superseded incarnation) {}

    RebuiltFences(Map<String, NodeReport> reports, Merge merge) {
        this.reports = reports;
        this.merge = merge;
        Map<String, Target> targets = new TreeMap<>();
        reports.values().stream()
                .flatMap(report -> report.hosted().fences().stream())
                .map(fence -> new Target(fence.space(), new NodeReport.Superseded(fence.node(), fence.incarnation())))
                .forEach(target -> targets.put(target.toString(), target));
        targets.values().forEach(this::add);
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
        List<Fence> fences =
                homes(space).stream().map(home -> fence(home, target)).toList();
        boolean pending = fences.stream().anyMatch(fence -> !fence.acknowledged());
        if (!pending && own.isEmpty()) {
            return; // It is cut off everywhere and cannot come back.
        }
        fences.forEach(fence -> rows.add(new Row(
                Table.FENCES,
                "%s/%s/%s/%s".formatted(fence.home(), node, fence.incarnation(), State.idKey(fence.space())),
                fence)));
        if (pending) {
            rows.add(new Row(
                    Table.ATTACHMENTS,
                    State.idKey(target.space()) + "/" + node,
                    new Attachment(target.space(), node, target.incarnation().incarnation(), AttachMode.EXCLUSIVE, 0)));
        }
    }

    /** The homes that have reported and whose pools hold pages of a space. */
    private Set<String> homes(SpaceExtents space) {
        Set<String> homes = new TreeSet<>();
        space.extents().stream()
                .filter(extent -> extent.state() == ExtentState.OK)
                .flatMap(Extent::places)
                .filter(merge::isCurrent)
                .map(ExtentHome::node)
                .forEach(homes::add);
        return homes;
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

    List<Row> rows() {
        return List.copyOf(rows);
    }

    /** The incarnations that fences are about. */
    List<NodeReport.Superseded> cutOff() {
        return List.copyOf(cutOff);
    }
}
