package io.farpage.verbs.soft;

import io.farpage.verbs.SharedReceiveQueue;

/** Receives that several queue pairs take from. */
final class SoftSharedReceiveQueue implements SharedReceiveQueue {
    private final SoftProtectionDomain domain;
    private final int number;
    private final ReceiveQueue queue;
    private final OpenChildren users;

    SoftSharedReceiveQueue(SoftProtectionDomain domain, int number, int maxWr, int maxSge) {
        this.domain = domain;
        this.number = number;
        this.queue = new ReceiveQueue(toString(), maxWr, maxSge);
        this.users = new OpenChildren(toString());
    }

    ReceiveQueue queue() {
        return queue;
    }

    OpenChildren users() {
        return users;
    }

    SoftProtectionDomain domain() {
        return domain;
    }

    @Override
    public void prepareRecv(long wrId, long localAddress, int length, int lkey) {
        queue.prepare(wrId, localAddress, length, lkey, "max_wr");
    }

    @Override
    public void appendRecvSge(long localAddress, int length, int lkey) {
        queue.append(localAddress, length, lkey);
    }

    @Override
    public void postRecv() {
        queue.post();
    }

    @Override
    public void close() {
        if (users.close()) {
            domain.removeChild(this);
        }
    }

    @Override
    public String toString() {
        return "srq " + number + " of " + domain.device().name();
    }
}
