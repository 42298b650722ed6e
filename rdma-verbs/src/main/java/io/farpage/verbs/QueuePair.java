package io.farpage.verbs;

/**
 * A reliable-connected queue pair: {@code struct ibv_qp} with {@code IBV_QPT_RC}.
 *
 * <p>Work requests are prepared one by one into a chain and posted at once:
 * {@code prepareRead(…); prepareRead(…); postSend();} rings one doorbell. Nothing reaches the peer before
 * {@link #postSend()}. Completions come in the order of posting. Local buffers belong to the queue pair from preparing
 * until completion; an unsignaled work request is complete when a later one of the same queue is.
 *
 * <p>One thread at a time may call its methods.
 */
public interface QueuePair extends AutoCloseable {
    /** This side's endpoint, to be given to the peer. Its PSN is new after each {@link #modifyToReset()}. */
    QpEndpoint endpoint();

    /** Queue pair number, 24 bits. */
    int qpn();

    /** The state as it is now; a queue pair goes to {@link QpState#ERR} by itself when a work request fails. */
    QpState state();

    /** The options in force, after clamping to the device's limits. */
    QpOptions options();

    /** RESET→INIT. @throws IllegalTransitionException from another state */
    void modifyToInit();

    /**
     * INIT→RTR: from now on the peer's requests are answered.
     *
     * @param remote the peer's endpoint
     * @param peer what the peer accepts. The path MTU is the smaller of the two ends' ones, and at most as many READs
     *     are in flight toward the peer as it answers at once
     * @throws IllegalTransitionException from another state
     * @throws VerbsException if the peer cannot be routed to
     */
    void modifyToRtr(QpEndpoint remote, PathLimits peer);

    /**
     * Has both sides of the connection prove, before the first request is executed, that they hold {@code secret}. The
     * soft provider does so with an HMAC-SHA256 over nonces of both sides; a peer that has no secret, or another one,
     * is refused. An RDMA device has no such exchange: the call has no effect there, and what protects the memory are
     * its rkeys. {@link #modifyToReset()} forgets the secret.
     *
     * @param secret what both sides derived for this link
     * @throws VerbsException if the state is neither RESET nor INIT
     */
    void requireProof(LinkSecret secret);

    /** As {@link #modifyToRtr(QpEndpoint, PathLimits)} with a peer that takes what this queue pair takes. */
    default void modifyToRtr(QpEndpoint remote) {
        modifyToRtr(remote, PathLimits.of(options()));
    }

    /** RTR→RTS: from now on sends are processed. @throws IllegalTransitionException from another state */
    void modifyToRts();

    /**
     * To ERR, from anywhere: everything outstanding completes with {@link WcStatus#WR_FLUSH_ERR}. What is prepared
     * stays prepared, and does the same once it is posted.
     */
    void modifyToErr();

    /** To RESET, from anywhere: everything outstanding is forgotten without a completion. */
    void modifyToReset();

    /**
     * Prepares a one-sided READ of the peer's memory.
     *
     * @param wrId any value, given back in the completion
     * @param localAddress where the data goes
     * @param length bytes, 0 to {@link DeviceAttributes#maxMessageSize()}
     * @param lkey key of the region that holds the local bytes; needs {@link AccessFlag#LOCAL_WRITE}
     * @param remoteAddress first byte to read, a virtual address at the peer
     * @param rkey the peer's key for it; needs {@link AccessFlag#REMOTE_READ}
     * @param flags {@link SendFlag}s
     * @throws QueueFullException if {@code max_send_wr} are outstanding
     */
    void prepareRead(long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags);

    /**
     * Prepares a one-sided WRITE to the peer's memory; parameters as for {@link #prepareRead}; needs
     * {@link AccessFlag#REMOTE_WRITE}.
     */
    void prepareWrite(long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags);

    /** Prepares a SEND into the peer's next receive. */
    void prepareSend(long wrId, long localAddress, int length, int lkey, int flags);

    /**
     * Adds a scatter/gather entry to the work request prepared last.
     *
     * @throws IllegalStateException if nothing is prepared or {@code max_sge} entries are prepared already
     */
    void appendSge(long localAddress, int length, int lkey);

    /**
     * Posts the prepared chain (ibv_post_send(3)). A chain is posted whole or, with the exception, not at all and is
     * forgotten.
     *
     * @throws VerbsException if the state is neither RTS nor ERR, or the device refuses; in ERR the chain is taken and
     *     flushed
     */
    void postSend();

    /** Send work requests that may still be prepared before {@link QueueFullException}. */
    int sendQueueSpace();

    /**
     * Prepares a receive.
     *
     * @throws QueueFullException if {@code max_recv_wr} are outstanding
     */
    void prepareRecv(long wrId, long localAddress, int length, int lkey);

    /** Adds a scatter entry to the receive prepared last; otherwise as {@link #appendSge}. */
    void appendRecvSge(long localAddress, int length, int lkey);

    /** Posts the prepared receives (ibv_post_recv(3)). @throws VerbsException in RESET */
    void postRecv();

    /**
     * Destroys the queue pair. Completions not yet polled are dropped. After the return no memory is accessed on its
     * behalf. Closing twice does nothing.
     */
    @Override
    void close();
}
