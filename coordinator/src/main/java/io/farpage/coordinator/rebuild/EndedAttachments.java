package io.farpage.coordinator.rebuild;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.Torn;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Attachments that homes know, of agents that were started again before the node reported. The lost coordinator would
 * have decided when the successor registered, and so it is decided here: the attachment of a guest that the successor
 * adopts passes to it once the homes have cut off the process before; any other ends then, and a space that a guest
 * used is torn.
 */
final class EndedAttachments {

    private final Map<String, NodeReport> reports;
    private final Merge merge;
    private final List<Attachment> adopted = new ArrayList<>();
    private final List<Attachment> ended = new ArrayList<>();

    EndedAttachments(Map<String, NodeReport> reports, Merge merge) {
        this.reports = reports;
        this.merge = merge;
        merge.spaces().values().forEach(this::add);
    }

    private void add(SpaceExtents space) {
        for (HostedAttachment known : lastKnown(space.space().id())) {
            Optional.ofNullable(reports.get(known.node()))
                    .filter(report -> report.attachments().stream().noneMatch(held -> held.space() == known.space()))
                    .filter(_ -> !isSucceeded(known))
                    .ifPresent(report -> add(known, report.registration()));
        }
    }

    /**
     * The attachments to a space as of the highest revision that is reported with them: by the home with the latest
     * document that has the space, or by the successor of a process that had attached later.
     */
    private List<HostedAttachment> lastKnown(long space) {
        Optional<Hosted> latest = reports.values().stream()
                .map(NodeReport::hosted)
                .filter(hosted ->
                        hosted.spaces().stream().anyMatch(each -> each.space().id() == space))
                .max(Comparator.comparingLong(Hosted::revision));
        long revision = latest.map(Hosted::revision).orElse(-1L);
        List<HostedAttachment> left = reports.entrySet().stream()
                .flatMap(report -> left(report.getKey(), report.getValue(), space, revision))
                .toList();
        return left.isEmpty()
                ? latest.stream()
                        .flatMap(hosted -> hosted.attachments().stream())
                        .filter(each -> each.space() == space)
                        .toList()
                : left;
    }

    /** The attachment of a guest that waits for the successor, if it is of a higher revision. */
    private static Stream<HostedAttachment> left(String node, NodeReport report, long space, long than) {
        return report.left().stream()
                .flatMap(List::stream)
                .filter(left ->
                        left.space().space().id() == space && left.space().revision() > than)
                .map(left -> HostedAttachment.of(
                        new Attachment(space, node, left.incarnation(), AttachMode.EXCLUSIVE, 0), 0));
    }

    /** Another node was attached later, so this attachment had ended before the coordinator was lost. */
    private boolean isSucceeded(HostedAttachment known) {
        return isExclusive(known) && merge.isUsed(known.space());
    }

    private static boolean isExclusive(HostedAttachment known) {
        return known.mode().orElse(AttachMode.EXCLUSIVE) == AttachMode.EXCLUSIVE;
    }

    private void add(HostedAttachment known, Registration now) {
        boolean isOwn = known.incarnation().equals(now.incarnation());
        Attachment attachment = new Attachment(
                known.space(),
                known.node(),
                known.incarnation(),
                known.mode().orElse(AttachMode.EXCLUSIVE),
                known.id());
        if (isExclusive(known) && now.adopts(known.space())) {
            adopted.add(isOwn ? attachment : passing(attachment, now.incarnation()));
        } else if (!isOwn) {
            ended.add(attachment);
        }
    }

    /** A home need not cut off its own process before, which has ended. Without another home, nothing is cut off. */
    private Attachment passing(Attachment before, Incarnation heir) {
        return merge.homes(before.space()).stream().allMatch(before.node()::equals)
                ? new Attachment(before.space(), before.node(), heir, before.mode(), before.id())
                : before.withHeir(heir);
    }

    /** Attachments of guests that a successor adopts: its own, or with it as the heir. */
    List<Attachment> adopted() {
        return List.copyOf(adopted);
    }

    /** Attachments of incarnations that the homes must cut off. */
    Stream<Attachment> cutOff() {
        return Stream.concat(adopted.stream().filter(each -> each.heir().isPresent()), ended.stream());
    }

    /** Whether a guest goes on that a successor adopts. */
    boolean isAdopted(long space) {
        return adopted.stream().anyMatch(each -> each.space() == space);
    }

    /** Why a space is torn whose guest was that of an incarnation that has ended. */
    Optional<String> torn(long space) {
        return ended.stream()
                .filter(each -> each.space() == space && each.mode().hasGuest())
                .map(each ->
                        Torn.reason("node '%s' was started again while a guest used the space".formatted(each.node())))
                .findFirst();
    }
}
