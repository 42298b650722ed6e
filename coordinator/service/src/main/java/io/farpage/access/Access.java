package io.farpage.access;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/** Who may use an operation: any of several ways to be allowed. Immutable. */
public final class Access {

    private final List<Grant> grants;
    /** Why no more is allowed, such as the setting that decides it. */
    private final Optional<String> note;

    private Access(Grant grant) {
        this(List.of(grant), Optional.empty());
    }

    private Access(List<Grant> grants, Optional<String> note) {
        this.grants = List.copyOf(grants);
        this.note = note;
    }

    /** Every client, even without an identity. */
    public static Access anyone() {
        return new Access(new Grant.Anyone());
    }

    /** A role or one that includes it. */
    public static Access role(Role role) {
        return new Access(new Grant.AtLeast(role));
    }

    /** Any node. */
    public static Access anyNode() {
        return new Access(new Grant.AnyNode());
    }

    /** Any node, if a setting of the service is true. */
    public static Access anyNodeIf(String setting) {
        return new Access(new Grant.AnyNodeIf(setting));
    }

    /** Only the node whose id is the value of a path parameter. */
    public static Access nodeInPath(String parameter) {
        return new Access(new Grant.NodeInPath(parameter));
    }

    /** Only the node whose id is the value of a path parameter, if a setting of the service is true. */
    public static Access nodeInPathIf(String parameter, String setting) {
        return new Access(new Grant.NodeInPathIf(parameter, setting));
    }

    /** At an agent, its own node: programs on its host show its certificate. At a coordinator, no node. */
    public static Access ownNode() {
        return new Access(new Grant.OwnNode());
    }

    /** At an agent, its own node. At a coordinator, any node. */
    public static Access servedNode() {
        return new Access(new Grant.ServedNode());
    }

    /** This or another. */
    public Access or(Access other) {
        List<Grant> both = new ArrayList<>(grants);
        both.addAll(other.grants);
        return new Access(both, note.isPresent() ? note : other.note);
    }

    /** What this comes to in a service: ways to be allowed that depend on its configuration are decided. */
    public Access under(Terms terms) {
        List<Grant> decided = new ArrayList<>();
        Optional<String> why = note;
        for (Grant grant : grants) {
            switch (grant) {
                case Grant.AnyNodeIf(String setting)
                when terms.settings().contains(setting) -> decided.add(new Grant.AnyNode());
                case Grant.NodeInPathIf(String parameter, String setting)
                when terms.settings().contains(setting) -> decided.add(new Grant.NodeInPath(parameter));
                case Grant.NodeInPathIf(String _, String setting) -> why = Optional.of(setting + " is false");
                case Grant.AnyNodeIf(String setting) -> why = Optional.of(setting + " is false");
                case Grant.OwnNode _ -> terms.node().ifPresent(id -> decided.add(new Grant.TheNode(id)));
                case Grant.ServedNode _ ->
                    decided.add(terms.node().<Grant>map(Grant.TheNode::new).orElseGet(Grant.AnyNode::new));
                default -> decided.add(grant);
            }
        }
        return new Access(decided, why);
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
