package io.farpage.verbs.ibverbs;

import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueueFullException;
import org.jspecify.annotations.Nullable;

/** The sends of a queue pair: the chain being prepared, and the ring of those that are prepared or outstanding. */
final class IbvSendQueue {
    private final NativeQp qp;
    private final WrRing ring;
    private final SendChain chain;

    IbvSendQueue(NativeQp qp, QpOptions options) {
        this.qp = qp;
        this.ring = new WrRing(options.sizes().maxSendWr(), qp.device().firstSequence());
        this.chain = new SendChain(
                options.sizes().maxSendWr(),
                options.sizes().maxSge(),
                options.sizes().maxInlineData());
    }

    WrRing ring() {
        return ring;
    }

    boolean isPrepared() {
        return chain.count() > 0;
    }

    /** Prepares a send; returns the chain, to set what its opcode needs. */
    SendChain prepare(int opcode, long wrId, long localAddress, int length, int lkey, int flags) {
        qp.device().requireLength(length);
        if (ring.space() == 0) {
            throw new QueueFullException(qp.toString(), "max_send_wr", ring.capacity());
        }
        chain.add(WrId.ofSend(ring.end()), opcode, flags, localAddress, length, lkey);
        ring.add(wrId);
        return chain;
    }

    void append(long localAddress, int length, int lkey) {
        qp.device().requireLength(length);
        chain.append(localAddress, length, lkey);
    }

    /** Discards what is prepared. */
    void discard() {
        ring.discard(chain.count());
        chain.clear();
    }

    /** Posts what is prepared. What the device does not accept is discarded. */
    @Nullable
    Refusal post() {
        int errno = qp.device().ops().postSend(qp.pointer(), chain.first(), chain.badWr());
        Refusal refusal = errno == 0 ? null : chain.refusal(errno);
        chain.clear();
        if (refusal != null) {
            ring.discard(refusal.count() - refusal.posted());
        }
        return refusal;
    }
}
