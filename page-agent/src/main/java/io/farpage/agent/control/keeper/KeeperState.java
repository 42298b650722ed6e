package io.farpage.agent.control.keeper;

/**
 * What a keeper says of itself.
 *
 * @param agent process that has what is kept; 0 if none runs
 * @param standby process that is the agent next; 0 if none is ready
 */
public record KeeperState(int agent, int standby) {
    static KeeperState of(long value) {
        return new KeeperState((int) value, (int) (value >>> Integer.SIZE));
    }

    long value() {
        return (long) standby << Integer.SIZE | Integer.toUnsignedLong(agent);
    }
}
