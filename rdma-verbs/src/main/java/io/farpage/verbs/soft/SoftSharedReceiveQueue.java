package io.farpage.verbs.soft;

import io.farpage.verbs.SharedReceiveQueue;
import java.util.function.Consumer;

/** Receives that several queue pairs take from. */
final class SoftSharedReceiveQueue implements SharedReceiveQueue {
    private final Consumer<SoftSharedReceiveQueue> onClose;
    private final String name;
    private final ReceiveQueue queue;
    private final OpenChildren users;

    SoftSharedReceiveQueue(String name, int maxWr, int maxSge, Consumer<SoftSharedReceiveQueue> onClose) {
        this.onClose = onClose;
        this.name = name;
        this.queue = new ReceiveQueue(name, maxWr, maxSge);
        this.users = new OpenChildren(name);
    }

    ReceiveQueue queue() {
        return queue;
    }

    OpenChildren users() {
        return users;
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
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
