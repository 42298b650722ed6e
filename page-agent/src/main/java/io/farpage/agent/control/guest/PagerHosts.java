package io.farpage.agent.control.guest;

import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.pins.PinWatches;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.data.shard.ShardLoop;
import java.util.List;
import java.util.Optional;

/** Distributes pagers over all shards: a new one goes to the shard with the fewest. Thread-safe. */
final class PagerHosts {
    /** The most pagers of one shard. */
    static final int MAX = ShardLoop.MAX_DESCRIPTORS;

    private final List<PagerHost> hosts;
    private final int[] pagers;
    private final PinWatches pins;
    private final int maxOfHeap;
    private int taken;

    /**
     * @param hosts in the order of their numbers
     * @param pins policy for guests whose memory may be pinned
     */
    PagerHosts(List<PagerHost> hosts, PinPolicy pins) {
        this.pins = new PinWatches(pins);
        this.maxOfHeap = Footprint.pagers(Runtime.getRuntime().maxMemory());
        this.hosts = List.copyOf(hosts);
        this.pagers = new int[hosts.size()];
    }

    /** Watches the VMMs of guests for pins. */
    PinWatches pins() {
        return pins;
    }

    /** The most pagers of all shards. */
    int capacity() {
        return Math.min(hosts.size() * MAX, maxOfHeap);
    }

    /** Why no shard can take another pager, and how to change that. */
    String fullness() {
        return maxOfHeap < hosts.size() * MAX
                ? ("the heap of %d MiB has room for %d pagers; end a guest, or give the agent more"
                                + " (FARPAGE_JAVA_OPTS=-Xmx...)")
                        .formatted(Runtime.getRuntime().maxMemory() >> 20, maxOfHeap)
                : "this agent's shards have all the pagers that they may have, %d; end a guest, or raise shard.count"
                        .formatted(capacity());
    }

    /** @throws IllegalArgumentException if the staging memory, which all share, cannot hold two pages of a size */
    void requireStaging(int pageSize) {
        hosts.getFirst().requireStaging(pageSize);
    }

    /** For the pagers of one guest, on whatever shards. */
    Drops.Writers writers() {
        return hosts.getFirst().writers();
    }

    /** Reserves a place on the shard with the fewest pagers; empty if all are full. */
    synchronized Optional<PagerHost> reserve() {
        int fewest = 0;
        for (int i = 1; i < pagers.length; i++) {
            fewest = pagers[i] < pagers[fewest] ? i : fewest;
        }
        return reserve(fewest);
    }

    /** Reserves a place on shard 0, which has the messages of coherent spaces; empty if it is full. */
    synchronized Optional<PagerHost> reserveFirst() {
        return reserve(0);
    }

    private Optional<PagerHost> reserve(int shard) {
        if (pagers[shard] == MAX || taken == maxOfHeap) {
            return Optional.empty();
        }
        taken++;
        pagers[shard]++;
        return Optional.of(hosts.get(shard));
    }

    /** Frees a place that was reserved. */
    synchronized void release(PagerHost host) {
        pagers[host.number()]--;
        taken--;
    }
}
