package io.farpage.verbs;

/** Receives that several queue pairs share: {@code struct ibv_srq}. Prepared and posted to by one thread at a time. */
public interface SharedReceiveQueue extends AutoCloseable {
    /** Adds a receive to the chain being prepared; see {@link QueuePair#prepareRecv}. */
    void prepareRecv(long wrId, long localAddress, int length, int lkey);

    /** Adds a scatter entry to the receive prepared last; see {@link QueuePair#appendRecvSge}. */
    void appendRecvSge(long localAddress, int length, int lkey);

    /** Posts the prepared chain (ibv_post_srq_recv(3)). */
    void postRecv();

    /** @throws ResourceBusyException naming them, while queue pairs use this queue */
    @Override
    void close();
}
