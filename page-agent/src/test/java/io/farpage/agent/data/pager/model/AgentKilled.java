package io.farpage.agent.data.pager.model;

/** The agent is killed in the midst of a duty cycle: unwinds it. */
public final class AgentKilled extends Error {
    private static final long serialVersionUID = 1L;

    /** Has no cause but the test. */
    public AgentKilled() {
        super("the agent is killed", null, false, false);
    }
}
