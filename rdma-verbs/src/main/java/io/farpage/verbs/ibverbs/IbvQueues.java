package io.farpage.verbs.ibverbs;

import io.farpage.verbs.QpOptions;
import io.farpage.verbs.VerbsException;
import org.jspecify.annotations.Nullable;

/**
 * The queues that a queue pair uses. Each of them knows its queue pairs, and cannot be closed before them.
 *
 * @param sends where its sends complete
 * @param receives where its receives complete
 * @param shared where its receives come from, if they are not its own
 */
record IbvQueues(
        IbvCompletionQueue sends,
        IbvCompletionQueue receives,
        @Nullable IbvSharedReceiveQueue shared) {
    void requireOpen() {
        sends.users().requireOpen();
        receives.users().requireOpen();
        if (shared != null) {
            shared.users().requireOpen();
        }
    }

    /** Reserves a completion for each work request; for all or, if it throws, for none. */
    void reserve(QpOptions options) {
        sends.reservations().reserve(options.sizes().maxSendWr(), null);
        try {
            receives.reservations().reserve(ownReceives(options), shared);
        } catch (VerbsException e) {
            sends.reservations().release(options.sizes().maxSendWr(), null);
            throw e;
        }
    }

    void release(QpOptions options) {
        sends.reservations().release(options.sizes().maxSendWr(), null);
        receives.reservations().release(ownReceives(options), shared);
    }

    /** Receives that are the queue pair's alone. */
    private int ownReceives(QpOptions options) {
        return shared == null ? options.sizes().maxRecvWr() : 0;
    }

    void add(Outstanding qp) {
        sends.users().add(() -> qp);
        receives.users().add(() -> qp);
        sends.add(qp);
        if (receives != sends) {
            receives.add(qp);
        }
        if (shared != null) {
            shared.users().add(() -> qp);
        }
    }

    void remove(Outstanding qp) {
        sends.remove(qp);
        receives.remove(qp);
        sends.users().remove(qp);
        receives.users().remove(qp);
        if (shared != null) {
            shared.users().remove(qp);
        }
    }
}
