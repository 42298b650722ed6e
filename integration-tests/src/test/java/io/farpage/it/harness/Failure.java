package io.farpage.it.harness;

/** What may fail in a {@link FailingCluster}. */
public enum Failure {
    /** SIGKILL of a home; its pool is gone unless it has a keeper. */
    KILL_HOME,
    /** SIGSTOP of a home. */
    STOP_HOME,
    /** A home's data address is cut off; the coordinator still sees the node. */
    CUT_LINKS,
    /** All connections to a home's data address are broken once. */
    BREAK_LINKS,
    /** A home does not reach the coordinator; its links stay. */
    CUT_HOME_FROM_COORDINATOR,
    /** Both: the home is alone. */
    ISOLATE_HOME,
    /** The agent of the guest does not reach the coordinator. */
    CUT_AGENT_FROM_COORDINATOR,
    /** SIGKILL of the agent of the guest, which has a keeper. */
    KILL_AGENT,
    KILL_COORDINATOR,
    /** A home is emptied. */
    DRAIN_HOME;

    /** Whether it is a failure of a home. */
    public boolean isOfAHome() {
        return switch (this) {
            case KILL_COORDINATOR, KILL_AGENT, CUT_AGENT_FROM_COORDINATOR -> false;
            default -> true;
        };
    }
}
