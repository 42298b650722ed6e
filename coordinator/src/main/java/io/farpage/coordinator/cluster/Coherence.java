package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;

/**
 * What differs in a coherent space. Several nodes use it at once, each as a member, and each page has one home, whose
 * agent decides which members may have the page. The homes stay, and no node gets keys to their frames.
 */
final class Coherence {

    /** Why an extent does not leave a node that is drained. */
    static final String STAYS = "the space is coherent, and its pages do not move; end its guests and delete it";

    private Coherence() {}

    /** Refuses an attachment that is not a member's to a coherent space, and a member's to another space. */
    static void checkAttach(Space space, AttachRequest request) {
        boolean isMember = request.mode() == AttachMode.MEMBER;
        if (space.isCoherent() && !isMember) {
            throw ProblemException.conflict(
                    "coherent",
                    ("space '%s' (id %d) is coherent: nodes attach it as members, each with a guest, and not %s; its"
                                    + " pages are read and written only through these guests")
                            .formatted(space.name(), space.id(), request.mode().adverb()));
        }
        if (!space.isCoherent() && isMember) {
            throw ProblemException.conflict(
                    "not-coherent",
                    ("space '%s' (id %d) is not coherent, and has no members; attach it exclusively, or make another:"
                                    + " coordinator space create NAME --size %d --coherent")
                            .formatted(space.name(), space.id(), space.sizeBytes()));
        }
    }

    /** Refuses one member too many. A node that is being cut off still counts. */
    static void checkMembers(Draft draft, Space space, String node) {
        long others = draft.attachedTo(space).stream()
                .filter(other -> !other.node().equals(node))
                .count();
        if (space.isCoherent() && others >= Space.MOST_MEMBERS) {
            throw ProblemException.conflict(
                    "too-many-members",
                    "space '%s' (id %d) has %d members, and %d are the most; detach it on one of their nodes"
                            .formatted(space.name(), space.id(), others, Space.MOST_MEMBERS));
        }
    }

    /** Refuses what is not done with a coherent space. */
    static void checkKept(Space space, String what) {
        if (space.isCoherent()) {
            throw ProblemException.conflict(
                    "coherent", "space '%s' (id %d) is coherent, and %s".formatted(space.name(), space.id(), what));
        }
    }
}
