package io.farpage.agent.control.guest;

import java.util.Optional;

/** Receives the events of guests, on the guests' threads. It must be quick and must not throw. */
public interface GuestWatch {

    /** Does nothing. */
    GuestWatch NONE = new GuestWatch() {
        @Override
        public void handoff(String space, HandoffPeer peer, Optional<String> refusal) {}

        @Override
        public void ended(String space, String reason, boolean saved) {}
    };

    /**
     * A process has handed memory over.
     *
     * @param refusal why it is not taken; empty if it is
     */
    void handoff(String space, HandoffPeer peer, Optional<String> refusal);

    /**
     * A guest that an earlier process of this node has served is served by this one.
     *
     * @param pid of its VMM
     * @param refusal why it is not, and its threads stay stopped; empty if it is
     */
    default void adopted(String space, int pid, Optional<String> refusal) {}

    /** A guest was parked because it was idle, not by request. */
    default void parked(String space) {}

    /** A parked guest has faulted so often that it is no longer parked. */
    default void unparked(String space) {}

    /**
     * A guest whose VMM had come has ended.
     *
     * @param saved whether its pages are at their homes
     */
    void ended(String space, String reason, boolean saved);
}
