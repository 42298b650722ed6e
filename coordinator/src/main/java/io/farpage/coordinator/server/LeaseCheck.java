package io.farpage.coordinator.server;

import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.cluster.Membership;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * Marks nodes whose leases have run out as failed. A coordinator that an agent has seen more than commits nothing, so
 * it fails no node. Used by one thread.
 */
final class LeaseCheck {

    private static final Duration SHORTEST = Duration.ofMillis(10);

    private final Lineage lineage;
    private final Ledger ledger;
    private final Membership membership;
    private final Duration longest;

    /** @param lease how long a lease is */
    LeaseCheck(Lineage lineage, Ledger ledger, Membership membership, Duration lease) {
        this.lineage = lineage;
        this.ledger = ledger;
        this.membership = membership;
        Duration share = lease.dividedBy(20);
        this.longest = share.compareTo(SHORTEST) < 0 ? SHORTEST : share;
    }

    /** The longest pause between two checks. */
    Duration longest() {
        return longest;
    }

    /**
     * Checks the leases once.
     *
     * @param failed told the nodes that failed
     * @return when the next check is due: a lease is looked at when it ends, and not a whole pause later
     */
    Duration step(Consumer<String> failed) {
        if (lineage.behind().isPresent()) {
            return longest;
        }
        ledger.probe();
        membership.expire(longest).forEach(failed);
        Duration untilExpiry = membership.untilExpiry();
        Duration sooner = untilExpiry.compareTo(longest) < 0 ? untilExpiry : longest;
        return sooner.compareTo(SHORTEST) < 0 ? SHORTEST : sooner;
    }
}
