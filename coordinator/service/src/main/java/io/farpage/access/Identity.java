package io.farpage.access;

/** On whose behalf a request is made. Text that goes into logs and problem documents is from {@code toString}. */
public sealed interface Identity {

    /** Whether the request has shown who makes it. */
    default boolean isKnown() {
        return !(this instanceof Stranger);
    }

    /**
     * A page agent, by the node id in its certificate.
     *
     * @param id of the node
     */
    record Node(String id) implements Identity {
        @Override
        public String toString() {
            return "node '" + id + "'";
        }
    }

    /** The coordinator, by its certificate. */
    record Coordinator() implements Identity {
        @Override
        public String toString() {
            return "the coordinator";
        }
    }

    /**
     * A person or a program.
     *
     * @param name in the certificate's CN, or of the token
     * @param role that it has
     * @param proof what has shown it: {@code certificate} or {@code token}
     */
    record Principal(String name, Role role, String proof) implements Identity {
        @Override
        public String toString() {
            return "%s '%s' (%s)".formatted(role.word(), name, proof);
        }
    }

    /**
     * Any client of a service that runs without authentication: on loopback, or because its configuration says
     * {@code insecure}.
     */
    record Unauthenticated() implements Identity {
        @Override
        public String toString() {
            return "an unauthenticated client";
        }
    }

    /**
     * A client of a service with authentication that has shown nothing that counts.
     *
     * @param reason what is missing, for the answer
     */
    record Stranger(String reason) implements Identity {
        @Override
        public String toString() {
            return "a client without identity";
        }
    }
}
