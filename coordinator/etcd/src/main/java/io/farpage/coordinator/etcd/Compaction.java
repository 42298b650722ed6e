package io.farpage.coordinator.etcd;

import io.farpage.coordinator.store.StoreException;
import io.grpc.Status;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the history of etcd short. etcd keeps every version of every key until it is compacted, and refuses all writing
 * when its database reaches its quota. The leader reads the present rows alone, so it compacts to the revision of its
 * last compaction point: of the history between one and two intervals stay.
 */
final class Compaction {

    /** Commits between two compactions. */
    static final int EVERY_COMMITS = 1_000;

    /** Bytes of commits between two compactions. */
    static final long EVERY_BYTES = 2 << 20;

    private static final Logger LOG = LoggerFactory.getLogger(Compaction.class);

    private final Etcd etcd;
    private final AtomicBoolean running = new AtomicBoolean();
    private int commits;
    private long bytes;

    /** Revision of etcd to which the next compaction goes. The thread that compacts owns it, and the failure. */
    private long point;

    private boolean failed;

    private Compaction(Etcd etcd, long point) {
        this.etcd = etcd;
        this.point = point;
        this.commits = EVERY_COMMITS; // a term may be shorter than an interval
    }

    /** Begins at the present revision: the first commit has the history of earlier terms compacted. */
    static Compaction begin(Etcd etcd) {
        return new Compaction(etcd, etcd.revision());
    }

    /** Counts a commit, and starts a compaction if one is due. Called by one thread at a time. */
    void onCommit(long size) {
        commits++;
        bytes += size;
        if ((commits > EVERY_COMMITS || bytes > EVERY_BYTES) && running.compareAndSet(false, true)) {
            commits = 0;
            bytes = 0;
            // A commit does not wait for it.
            Thread.ofPlatform().daemon().name("etcd-compaction").start(this::run);
        }
    }

    private void run() {
        try {
            long next = etcd.revision();
            compact();
            point = next;
            failed = false;
        } catch (StoreException e) {
            if (!failed) {
                failed = true;
                LOG.warn("etcd is not compacted, and its database grows: {}", e.getMessage());
            }
        } finally {
            running.set(false);
        }
    }

    private void compact() {
        try {
            etcd.compact(point);
        } catch (StoreException e) {
            if (Status.fromThrowable(e).getCode() != Status.Code.OUT_OF_RANGE) {
                throw e;
            }
            LOG.debug("etcd was compacted further by itself: {}", e.getMessage());
        }
    }
}
