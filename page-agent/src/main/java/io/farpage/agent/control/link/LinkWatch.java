package io.farpage.agent.control.link;

/** Receives the events of links, on the links' thread. It must be quick and must not throw. */
@FunctionalInterface
public interface LinkWatch {

    /** What has happened to a link. */
    enum Kind {
        /** It is up. */
        UP,
        /** It is up on another transport. */
        MOVED,
        /** It was up and is no longer. */
        DOWN,
        /** An attempt has failed. */
        FAILED,
        /** This node or the peer does not want it. */
        REFUSED
    }

    /**
     * A change of a link.
     *
     * @param peer node id
     * @param incarnation of the peer, 0 if none is known
     * @param transport rdma or tcp; empty if there is no queue pair
     * @param reason why it went down, failed or was refused; empty if it is up
     */
    record Change(Kind kind, String peer, long incarnation, String transport, String reason) {}

    /** A link has changed. */
    void changed(Change change);
}
