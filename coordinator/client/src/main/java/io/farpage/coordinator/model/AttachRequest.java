package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/**
 * The body of {@code PUT /spaces/{id}/attachments/{node}}.
 *
 * @param incarnation of the node
 * @param mode alone, beside others, or as a member of a coherent space
 * @param force whether to take a torn space as it is, which ends the mark; false when left out
 * @param features what the agent understands, by {@link Feature#word}; names that this program does not know count for
 *     nothing. An agent that is older than this field understands no feature
 * @param takeover whether the homes cut off nodes that are attached and have failed, so that this one can follow them,
 *     or the other members of a coherent space are rid of them; false when left out
 * @param adopts the incarnation of the node whose guest runs on: its exclusive attachment passes to this one, or the
 *     request is refused; a new attachment when left out
 * @param writes whether a node that is attached beside others writes pages; false when left out. One that has a guest
 *     on the space does
 */
public record AttachRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) AttachMode mode,
        Optional<Boolean> force,
        Optional<List<String>> features,
        Optional<Boolean> takeover,
        Optional<Incarnation> adopts,
        Optional<Boolean> writes) {

    /** Copies the features. */
    public AttachRequest {
        features = features.map(List::copyOf);
    }

    /** A request that takes nothing over. */
    public AttachRequest(
            Incarnation incarnation, AttachMode mode, Optional<Boolean> force, Optional<List<String>> features) {
        this(incarnation, mode, force, features, Optional.empty(), Optional.empty(), Optional.empty());
    }

    /** The same request, which takes the space over from nodes that have failed. */
    public AttachRequest withTakeover() {
        return new AttachRequest(incarnation, mode, force, features, Optional.of(true), adopts, writes);
    }

    /** The same request, for the exclusive attachment of an earlier incarnation of the node. */
    public AttachRequest withAdopted(Incarnation earlier) {
        return new AttachRequest(incarnation, mode, force, features, takeover, Optional.of(earlier), writes);
    }

    /** The same request, of a node that writes pages. */
    public AttachRequest withWrites() {
        return new AttachRequest(incarnation, mode, force, features, takeover, adopts, Optional.of(true));
    }

    /** Whether the node may write pages from now on. */
    public boolean mayWrite() {
        return mode.hasGuest() || writes.orElse(false);
    }

    /** As the other one; attaches to a space only if it is not torn. */
    public AttachRequest(Incarnation incarnation, AttachMode mode) {
        this(incarnation, mode, Optional.empty(), Optional.of(Feature.words()));
    }

    /** Whether the agent understands a feature. */
    public boolean understands(Feature feature) {
        return features.map(words -> words.contains(feature.word())).orElse(false);
    }
}
