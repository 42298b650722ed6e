package io.farpage.agent.control.keeper;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/**
 * The standbys that wait at a keeper. The one that came last is the next agent: an upgrade starts its successor last.
 * One thread.
 */
final class Standbys {
    /** The most that wait, so that others can still connect. */
    static final int CAPACITY = 4;

    private final Deque<Standby> waiting = new ArrayDeque<>();

    /**
     * A process that is ready to be the agent.
     *
     * @param connection that it waits on
     * @param format the latest that it reads
     */
    record Standby(Keeper.Connection connection, long format) {}

    /** Adds one; false if too many wait. */
    boolean add(Standby standby) {
        if (waiting.size() == CAPACITY) {
            return false;
        }
        waiting.push(standby);
        return true;
    }

    /** The standby that becomes the agent next. */
    Optional<Standby> next() {
        return Optional.ofNullable(waiting.peek());
    }

    /** Whether a process waits on a connection. */
    boolean has(Keeper.Connection connection) {
        return waiting.stream().anyMatch(one -> one.connection().equals(connection));
    }

    /** A connection has ended, or its process waits no longer. */
    void remove(Keeper.Connection connection) {
        waiting.removeIf(one -> one.connection().equals(connection));
    }
}
