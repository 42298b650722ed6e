package io.farpage.access;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/** Who may use a route: any of several ways to be allowed. Immutable. */
public final class Access {

    private final List<Grant> grants;
    private final Optional<String> note;

    private Access(List<Grant> grants) {
        this(grants, Optional.empty());
    }

    private Access(List<Grant> grants, Optional<String> note) {
        this.grants = List.copyOf(grants);
        this.note = note;
    }

    /** Every client, even without an identity. */
    public static Access anyone() {
        return new Access(List.of(new Grant.Anyone()));
    }

    /** A role or one that includes it. */
    public static Access role(Role role) {
        return new Access(List.of(new Grant.AtLeast(role)));
    }

    /** Any node. */
    public static Access anyNode() {
        return new Access(List.of(new Grant.AnyNode()));
    }

    /** Only the node whose id is the value of a path parameter. */
    public static Access nodeInPath(String parameter) {
        return new Access(List.of(new Grant.NodeInPath(parameter)));
    }

    /** Only one node. */
    public static Access node(String id) {
        return new Access(List.of(new Grant.TheNode(id)));
    }

    /** This or another. */
    public Access or(Access other) {
        List<Grant> both = new ArrayList<>(grants);
        both.addAll(other.grants);
        return new Access(both, note.or(() -> other.note));
    }

    /** The same; a refusal adds why no more is allowed, such as the setting that decides it. */
    public Access noting(String why) {
        return new Access(grants, Optional.of(why));
    }

    /** Whether a request needs no identity. */
    public boolean isPublic() {
        return grants.stream().anyMatch(Grant.Anyone.class::isInstance);
    }

    /**
     * Whether an identity is allowed.
     *
     * @param parameter gives the value of a path parameter of the request by its name
     */
    public boolean allows(Identity identity, UnaryOperator<String> parameter) {
        return identity instanceof Identity.Unauthenticated
                || grants.stream().anyMatch(grant -> grant.allows(identity, parameter));
    }

    /** What is needed, in words. */
    public String needed(UnaryOperator<String> parameter) {
        return grants.stream().map(grant -> grant.needed(parameter)).distinct().collect(Collectors.joining(" or "))
                + note.map(why -> " (" + why + ")").orElse("");
    }
}
