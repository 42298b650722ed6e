package io.farpage.agent.data.pager.model;

/** The agent is killed in the midst of a duty cycle: unwinds it. */
final class AgentKilled extends Error {
    private static final long serialVersionUID = 1L;

    AgentKilled() {
        super("the agent is killed", null, false, false);
    }
}
