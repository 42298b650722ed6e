package io.farpage.limit;

import java.util.HashMap;
import java.util.Map;

/**
 * How many connections each address has open. One that has as many as it may gets no more; the others are not affected.
 * Thread-safe.
 */
public final class AddressConnections {

    private final int most;
    private final Runnable refused;
    private final Map<String, Integer> open = new HashMap<>();

    /**
     * Makes an empty table.
     *
     * @param most connections of one address, at least 1
     * @param refused is run for each that is refused
     */
    AddressConnections(int most, Runnable refused) {
        this.most = most;
        this.refused = refused;
    }

    /** The connections that one address may have open. */
    public int most() {
        return most;
    }

    /**
     * Counts a connection of an address. False at the limit of the address. Call {@link #closed} for each counted
     * connection.
     */
    public synchronized boolean opened(String address) {
        String key = AddressGroup.of(address);
        int before = open.getOrDefault(key, 0);
        if (before >= most) {
            refused.run();
            return false;
        }
        open.put(key, before + 1);
        return true;
    }

    /** A connection that was counted has ended. */
    public synchronized void closed(String address) {
        open.computeIfPresent(AddressGroup.of(address), (_, count) -> count == 1 ? null : count - 1);
    }

    /** The size of the table: addresses that have a connection open. */
    synchronized int addresses() {
        return open.size();
    }
}
