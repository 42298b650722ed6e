package io.farpage.access;

import java.util.function.UnaryOperator;

/** One way to be allowed. */
sealed interface Grant {

    /**
     * Whether an identity is allowed.
     *
     * @param parameter gives the value of a path parameter of the request by its name
     */
    boolean allows(Identity identity, UnaryOperator<String> parameter);

    /** The right in words, and what to use to have it. */
    String needed(UnaryOperator<String> parameter);

    /** Everything is allowed, without an identity too. */
    record Anyone() implements Grant {
        @Override
        public boolean allows(Identity identity, UnaryOperator<String> parameter) {
            return true;
        }

        @Override
        public String needed(UnaryOperator<String> parameter) {
            return "nothing";
        }
    }

    /** A role that includes another one. The coordinator's own certificate is an admin's. */
    record AtLeast(Role role) implements Grant {
        @Override
        public boolean allows(Identity identity, UnaryOperator<String> parameter) {
            return switch (identity) {
                case Identity.Principal principal -> principal.role().includes(role);
                case Identity.Coordinator _ -> true;
                default -> false;
            };
        }

        @Override
        public String needed(UnaryOperator<String> parameter) {
            return "role " + role.word();
        }
    }

    /** Any node. */
    record AnyNode() implements Grant {
        @Override
        public boolean allows(Identity identity, UnaryOperator<String> parameter) {
            return identity instanceof Identity.Node;
        }

        @Override
        public String needed(UnaryOperator<String> parameter) {
            return "a node's certificate";
        }
    }

    /** The node that the path names. */
    record NodeInPath(String name) implements Grant {
        @Override
        public boolean allows(Identity identity, UnaryOperator<String> parameter) {
            return identity instanceof Identity.Node node && node.id().equals(parameter.apply(name));
        }

        @Override
        public String needed(UnaryOperator<String> parameter) {
            return "the certificate of node '" + parameter.apply(name) + "'";
        }
    }

    /** One node, whatever the path. */
    record TheNode(String id) implements Grant {
        @Override
        public boolean allows(Identity identity, UnaryOperator<String> parameter) {
            return identity instanceof Identity.Node node && node.id().equals(id);
        }

        @Override
        public String needed(UnaryOperator<String> parameter) {
            return "the certificate of node '" + id + "'";
        }
    }

    /** A way to be allowed that the configuration of a service decides: it allows nothing before that. */
    sealed interface Undecided extends Grant {
        @Override
        default boolean allows(Identity identity, UnaryOperator<String> parameter) {
            return false;
        }

        @Override
        default String needed(UnaryOperator<String> parameter) {
            return "what the service's configuration says";
        }
    }

    /** Any node, if a setting is true. */
    record AnyNodeIf(String setting) implements Undecided {}

    /** The node that the path names, if a setting is true. */
    record NodeInPathIf(String name, String setting) implements Undecided {}

    /** The node whose agent the service is. */
    record OwnNode() implements Undecided {}

    /** The node whose agent the service is, or any node. */
    record ServedNode() implements Undecided {}
}
