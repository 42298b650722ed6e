package io.farpage.coordinator.cluster;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * What differs in a coherent space. Several nodes use it at once, each as a member. The agent of a page's first home
 * decides which members may have the page, and sends what they have written to the second home, if there is one. While
 * a space has members, no home joins it, and no node gets keys to its frames.
 */
final class Coherence {

    /** Why an extent does not leave a node that is drained, or gets no second home. */
    static final String STAYS = "the space is coherent, and no home joins it while it has members; end its guests";

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

    /** Whether a coherent space has members, or nodes that are being cut off from it. */
    static boolean isUsed(Draft draft, Space space) {
        return space.isCoherent() && !Pulls.isUnattended(draft, space);
    }

    /**
     * What is done about failed homes of an extent of a space that has members: they are dropped if another home is
     * alive. The directory on that one grants nothing before it has heard each member, and a member is heard once it
     * knows that the failed home was dropped. So a home that was dropped and goes on harms nothing.
     */
    static Optional<ExtentCommand> dropFailed(Draft draft, Extent extent) {
        Predicate<ExtentHome> isFailed = home -> draft.isFailed(home.node());
        return extent.state() == ExtentState.OK && extent.homes().stream().anyMatch(isFailed.negate())
                ? extent.homes().stream().filter(isFailed).findFirst().map(ExtentCommand.Drop::new)
                : Optional.empty();
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

    /** Refuses more homes than a coherent space may have. */
    static void checkReplicas(Space space, int replicas) {
        if (space.isCoherent() && replicas > Space.MOST_COHERENT_HOMES) {
            throw ProblemException.conflict(
                    "coherent",
                    "replicas: %d, but space '%s' (id %d) is coherent, and has at most %d homes for each page"
                            .formatted(replicas, space.name(), space.id(), Space.MOST_COHERENT_HOMES));
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
