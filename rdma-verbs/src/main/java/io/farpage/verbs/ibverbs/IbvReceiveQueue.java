package io.farpage.verbs.ibverbs;

import io.farpage.linux.Errno;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueueFullException;
import io.farpage.verbs.VerbsException;
import org.jspecify.annotations.Nullable;

/** The receives of a queue pair: the chain being prepared, and the ring of those that are prepared or outstanding. */
final class IbvReceiveQueue {
    private final NativeQp qp;
    private final @Nullable IbvSharedReceiveQueue shared;
    private final WrRing ring;
    private final RecvChain chain;

    /** @param shared where the receives come from instead, if they are not the queue pair's own */
    IbvReceiveQueue(NativeQp qp, QpOptions options, @Nullable IbvSharedReceiveQueue shared) {
        this.qp = qp;
        this.shared = shared;
        this.ring = new WrRing(options.sizes().maxRecvWr(), qp.device().firstSequence());
        this.chain = new RecvChain(
                shared == null ? options.sizes().maxRecvWr() : 1,
                options.sizes().maxSge());
    }

    WrRing ring() {
        return ring;
    }

    boolean isPrepared() {
        return chain.count() > 0;
    }

    void prepare(long wrId, long localAddress, int length, int lkey) {
        if (shared != null) {
            throw new VerbsException(
                    "post_recv on " + qp + ": its receives come from " + shared + "; post them on that queue",
                    Errno.EINVAL);
        }
        qp.device().requireLength(length);
        if (ring.space() == 0) {
            throw new QueueFullException(qp.toString(), "max_recv_wr", ring.capacity());
        }
        chain.add(WrId.ofRecv(ring.add(wrId)), localAddress, length, lkey);
    }

    void append(long localAddress, int length, int lkey) {
        qp.device().requireLength(length);
        chain.addEntry(localAddress, length, lkey);
    }

    /** Discards what is prepared. */
    void discard() {
        ring.discard(chain.count());
        chain.clear();
    }

    /** Posts what is prepared. What the device does not accept is discarded. */
    @Nullable
    Refusal post() {
        int errno = qp.device().ops().postRecv(qp.pointer(), chain.first(), chain.badWr());
        Refusal refusal = errno == 0 ? null : chain.refusal(errno);
        chain.clear();
        if (refusal != null) {
            ring.discard(refusal.count() - refusal.posted());
        }
        return refusal;
    }
}
