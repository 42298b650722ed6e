package io.farpage.agent.control.keeper;

/** Where an agent's memory outlives its process. */
public enum KeeperMode {
    /** Nowhere. */
    OFF,
    /** At a {@code page-agent keeper}. */
    PROCESS
}
