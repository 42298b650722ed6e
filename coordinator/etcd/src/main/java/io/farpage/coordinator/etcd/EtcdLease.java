package io.farpage.coordinator.etcd;

import io.farpage.coordinator.store.StoreException;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A lease of etcd that a thread keeps alive. */
final class EtcdLease implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(EtcdLease.class);

    /** After a renewal that no member answered. */
    private static final Duration RETRY = Duration.ofMillis(50);

    private final Etcd etcd;
    private final long id;
    private final Duration length;
    private final LeaseTime time;

    private EtcdLease(Etcd etcd, long id, Duration length, LeaseTime time) {
        this.etcd = etcd;
        this.id = id;
        this.length = length;
        this.time = time;
    }

    /** @param clock as of {@link LeaseTime} */
    static EtcdLease grant(Etcd etcd, Duration length, LongSupplier clock) {
        long seconds = length.plusMillis(999).toSeconds(); // never shorter in etcd than on this side
        long sent = clock.getAsLong();
        // If two members are asked, the lease of one has no key and runs out.
        long id = etcd.ask("grant a lease", client -> client.getLeaseClient().grant(seconds))
                .getID();
        EtcdLease lease = new EtcdLease(etcd, id, length, new LeaseTime(length, clock, sent));
        Thread.ofPlatform().daemon().name("etcd-lease").start(lease::keep);
        return lease;
    }

    private void keep() {
        Duration pause = length.dividedBy(6);
        Etcd quick = etcd.within(length.dividedBy(4));
        while (holds()) {
            long sent = time.now();
            try {
                long left = quick.ask(
                                "renew the lease",
                                client -> client.getLeaseClient().keepAliveOnce(id))
                        .getTTL();
                if (left <= 0) {
                    break;
                }
                if (!time.renew(sent)) {
                    break;
                }
                if (time.pause(pause)) {
                    return;
                }
            } catch (StoreException e) {
                LOG.debug("the lease was not renewed: {}", e.getMessage());
                if (pauseOrEnd(RETRY)) {
                    return;
                }
            } catch (InterruptedException e) {
                break;
            }
        }
        time.end();
        revokeWhileItLasts();
    }

    /** A new leader of etcd gives every lease its whole length again, for which no candidate could be elected. */
    private void revokeWhileItLasts() {
        long end = System.nanoTime() + length.multipliedBy(2).toNanos();
        while (!isRevoked() && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(RETRY.toNanos());
        }
    }

    private boolean isRevoked() {
        try {
            etcd.within(length.dividedBy(4))
                    .ask("revoke the lease", client -> client.getLeaseClient().revoke(id));
            return true;
        } catch (StoreException e) {
            if (Status.fromThrowable(e).getCode() == Status.Code.NOT_FOUND) {
                return true;
            }
            LOG.debug("the lease is not revoked: {}", e.getMessage());
            return false;
        }
    }

    private boolean pauseOrEnd(Duration pause) {
        try {
            return time.pause(pause);
        } catch (InterruptedException e) {
            return true;
        }
    }

    long id() {
        return id;
    }

    boolean holds() {
        return time.holds();
    }

    /** Ends it on this side at once; etcd ends it when its length has passed. */
    void end() {
        time.end();
    }

    /** Waits for its end; says whether it has ended. */
    boolean awaitEnd(Duration longest) throws InterruptedException {
        return time.awaitEnd(longest);
    }

    /** Ends it, in etcd too, so that no candidate waits for it to run out. */
    @Override
    public void close() {
        end();
        if (!isRevoked()) {
            LOG.debug("the lease runs out by itself");
        }
    }
}
