package io.farpage.agent.guest;

import io.farpage.agent.pins.PinPolicy;
import io.farpage.agent.shard.ShardLoop;
import java.util.List;
import java.util.Optional;

/** All shards as places for pagers: each next one goes to where there are fewest. Thread-safe. */
final class PagerHosts {
    /** Pagers that one shard may have. */
    static final int MOST = ShardLoop.MAX_DESCRIPTORS;

    private final List<PagerHost> hosts;
    private final int[] pagers;
    private final PinPolicy pins;

    /**
     * @param hosts in the order of their numbers
     * @param pins what becomes of guests whose memory may be pinned
     */
    PagerHosts(List<PagerHost> hosts, PinPolicy pins) {
        this.pins = pins;
        this.hosts = List.copyOf(hosts);
        this.pagers = new int[hosts.size()];
    }

    /** What becomes of guests whose memory may be pinned. */
    PinPolicy pins() {
        return pins;
    }

    /** How many pagers all shards may have. */
    int capacity() {
        return hosts.size() * MOST;
    }

    /** @throws IllegalArgumentException if the staging memory, which all share, has no room for pages of a size to come and to go */
    void requireStaging(int pageSize) {
        hosts.getFirst().requireStaging(pageSize);
    }

    /** Takes a place on the shard that has the fewest pagers; empty if there is none left. */
    synchronized Optional<PagerHost> take() {
        int least = 0;
        for (int i = 1; i < pagers.length; i++) {
            least = pagers[i] < pagers[least] ? i : least;
        }
        if (pagers[least] == MOST) {
            return Optional.empty();
        }
        pagers[least]++;
        return Optional.of(hosts.get(least));
    }

    /** Gives a place back that {@link #take} gave. */
    synchronized void giveBack(PagerHost host) {
        pagers[host.number()]--;
    }
}
