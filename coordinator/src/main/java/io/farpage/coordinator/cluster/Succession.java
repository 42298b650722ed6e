package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;
import java.util.function.LongPredicate;

/**
 * Passes attachments with guests from an incarnation that was killed to the one that has adopted its guests. The homes
 * cut the former off first, as they do for any incarnation that ends without detaching; then the attachment is the
 * successor's, and the space is not torn. Until then no other node can attach to the space, unless it is coherent. An
 * attachment to a coherent space keeps its id, by which the homes know that the successor has the pages of the former
 * member.
 */
final class Succession {

    private Succession() {}

    /** The attachments that an incarnation has, or is about to get from one before it. */
    static List<Attachment> attachedBy(Draft draft, String node, Incarnation incarnation) {
        return draft.attachedBy(node).stream()
                .filter(attachment -> attachment.incarnation().equals(incarnation)
                        || attachment.heir().filter(incarnation::equals).isPresent())
                .toList();
    }

    /**
     * An incarnation was killed, and another one has its pool.
     *
     * @param adopts the spaces whose guests run on; the other attachments end as they do with any incarnation
     */
    static void begin(Draft draft, Attachments attachments, Node before, Node now, LongPredicate adopts) {
        for (Attachment attachment : attachedBy(draft, before.id(), before.incarnation())) {
            Space space = draft.spaces.find(Keys.id(attachment.space())).orElseThrow();
            if (!adopts.test(space.id()) || !mayPass(draft, space, attachment)) {
                attachments.depart(draft, attachment, "was started again");
                continue;
            }
            Attachment passed = attachment.withHeir(now.incarnation());
            draft.attachments.put(Keys.attachment(space.id(), before.id()), passed);
            Fences.begin(draft, space, passed);
        }
    }

    /**
     * Whether an attachment has not been ended: an incarnation that is being cut off without an heir is to lose its
     * space.
     */
    private static boolean mayPass(Draft draft, Space space, Attachment attachment) {
        return attachment.mode().hasGuest()
                && !space.deleting()
                && (attachment.heir().isPresent() || !Fences.isCutOff(draft, space, attachment));
    }

    /** The homes have cut off the incarnation that had an attachment: it is the heir's now. */
    static void pass(Draft draft, Space space, Attachment attachment) {
        // What it has noted for joining homes has ended with it.
        Attachments.remove(draft, space, attachment.node());
        Attachment passed = new Attachment(
                space.id(),
                attachment.node(),
                attachment.heir().orElseThrow(),
                attachment.mode(),
                attachment.mode() == AttachMode.MEMBER ? attachment.id() : Attachments.newId(draft));
        draft.attachments.put(Keys.attachment(space.id(), attachment.node()), passed);
        draft.emit(EventKind.GUEST_ADOPTED, Optional.of(passed.node()), space);
    }

    /**
     * The attachment that a request names as adopted, once it has passed to the incarnation that asks. It is found by
     * that one alone: the earlier incarnation comes from the record of a guest, and a process that is killed before it
     * has written the record leaves the one of its predecessor.
     */
    static Attachment adopted(Draft draft, Space space, String node, AttachRequest request) {
        Attachment known = draft.attachments
                .find(Keys.attachment(space.id(), node))
                .filter(attachment -> attachment.mode() == request.mode())
                .filter(attachment -> attachment.incarnation().equals(request.incarnation())
                        || attachment
                                .heir()
                                .filter(request.incarnation()::equals)
                                .isPresent())
                .orElseThrow(() -> ProblemException.conflict(
                        "not-adopted",
                        ("the attachment of space '%s' (id %d) %s by incarnation %s of node '%s' was ended or"
                                        + " taken over, and does not pass to incarnation %s: the guest cannot go on;"
                                        + " end its VMM")
                                .formatted(
                                        space.name(),
                                        space.id(),
                                        request.mode().adverb(),
                                        request.adopts().orElseThrow(),
                                        node,
                                        request.incarnation())));
        if (!known.incarnation().equals(request.incarnation())) {
            throw ProblemException.conflict(
                    "fencing",
                    ("the attachment of space '%s' passes to incarnation %s of node '%s' when %s has cut off"
                                    + " incarnation %s, or its lease has run out and other homes have its pages; try"
                                    + " again then")
                            .formatted(
                                    space.name(),
                                    request.incarnation(),
                                    node,
                                    Fences.names(Fences.awaited(draft, space, known)),
                                    known.incarnation()));
        }
        return known;
    }
}
