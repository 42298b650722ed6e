package io.farpage.coordinator.etcd;

import io.farpage.coordinator.store.StoreException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lease of etcd that a thread keeps alive. It holds, on this host's monotonic clock, until three quarters of its length after the last renewal that
 * was answered was <em>sent</em>; etcd ends it a whole length after the renewal came in at the earliest.
 */
final class EtcdLease implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(EtcdLease.class);

    /** Before the next member is asked. */
    private static final Duration RETRY = Duration.ofMillis(50);

    private final Etcd etcd;
    private final long id;
    private final Duration length;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile long until;

    private EtcdLease(Etcd etcd, long id, Duration length, long sent) {
        this.etcd = etcd;
        this.id = id;
        this.length = length;
        this.until = sent + length.toNanos() / 4 * 3;
    }

    static EtcdLease grant(Etcd etcd, Duration length) {
        long seconds = length.plusMillis(999).toSeconds(); // never shorter in etcd than on this side
        long sent = System.nanoTime();
        long id = etcd.call("grant a lease", client -> client.getLeaseClient().grant(seconds))
                .getID();
        EtcdLease lease = new EtcdLease(etcd, id, length, sent);
        Thread.ofPlatform().daemon().name("etcd-lease").start(lease::keep);
        return lease;
    }

    private void keep() {
        Duration pause = length.dividedBy(6);
        // Two members may fail to answer before the lease is over on this side.
        Etcd quick = etcd.within(length.dividedBy(4));
        while (holds()) {
            long sent = System.nanoTime();
            try {
                long left = quick.call(
                                "renew the lease",
                                client -> client.getLeaseClient().keepAliveOnce(id))
                        .getTTL();
                if (left <= 0) {
                    break;
                }
                until = sent + length.toNanos() / 4 * 3;
                if (ended.await(pause.toMillis(), TimeUnit.MILLISECONDS)) {
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
        ended.countDown();
    }

    private boolean pauseOrEnd(Duration pause) {
        try {
            return ended.await(pause.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            return true;
        }
    }

    long id() {
        return id;
    }

    boolean holds() {
        return ended.getCount() > 0 && System.nanoTime() - until < 0;
    }

    /** Ends it on this side at once; etcd ends it when its length has passed. */
    void end() {
        ended.countDown();
    }

    void awaitEnd() throws InterruptedException {
        while (holds()) {
            if (ended.await(Math.max(1, (until - System.nanoTime()) / 1_000_000), TimeUnit.MILLISECONDS)) {
                return;
            }
        }
    }

    /** Ends it, in etcd too, so that no candidate waits for it to run out. */
    @Override
    public void close() {
        end();
        try {
            etcd.within(length.dividedBy(4))
                    .ask("revoke the lease", client -> client.getLeaseClient().revoke(id));
        } catch (StoreException e) {
            LOG.debug("the lease runs out by itself: {}", e.getMessage());
        }
    }
}
