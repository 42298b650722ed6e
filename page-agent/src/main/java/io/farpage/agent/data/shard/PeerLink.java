package io.farpage.agent.data.shard;

import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A shard's side of the link to one peer: at most one queue pair and its outstanding work. Lives as long as the agent,
 * through many queue pairs and incarnations of the peer. A second link to the same peer holds the queue pair of a
 * trial, or the one that a trial has replaced.
 *
 * <p>Belongs to the shard's thread, except for {@link #peer()}, {@link #phase()}, {@link #lastFailure()} and
 * {@link #transport()}, which any thread may read.
 */
public final class PeerLink {
    /** A link without a queue pair has no number. */
    static final int NO_NUMBER = -1;

    /**
     * Bytes of bulk under way at once, and what one more transfer has. More than the bandwidth of a link times its
     * round trip: 100 Gbit/s times 20 µs, 25 Gbit/s times 80 µs.
     */
    public static final int BULK_WINDOW = 256 * 1024;

    private final String peer;
    private final long bulkWindow;
    private final boolean trial;

    private volatile LinkPhase phase = LinkPhase.DOWN;
    private volatile String lastFailure = "";
    private volatile String transport = "";

    private @Nullable Connection connection;
    private int prepared;
    private int outstanding;
    /** SENDs that are not signaled, and that no later completion has completed. */
    private int unsignaled;
    /** Work requests in {@link #prepared} that are not signaled. */
    private int preparedUnsignaled;
    /** Bytes of {@link Priority#BULK} in {@link #prepared} and {@link #outstanding} transfers. */
    private long bulk;
    /** The deadline of the phase, if it is VERIFYING, SWITCHING or DRAINING. */
    private long deadline;

    private String drainReason = "";
    private boolean released;
    private boolean refused;
    private long connections;
    private int number = NO_NUMBER;
    private final FailureDetector answers = new FailureDetector();
    private DeviceGrants granted = DeviceGrants.NOTHING;
    /** The range of the latest transfer. */
    private int range = GrantedRanges.NONE;

    private @Nullable PeerLink successor;

    private boolean messagesWanted;
    private @Nullable QueuePairMessages messages;
    /** Entries of the send queue that transfers leave to messages. */
    private int reserved;

    /** @param peer node id */
    public PeerLink(String peer) {
        this(peer, BULK_WINDOW);
    }

    /**
     * As {@link #PeerLink(String)}.
     *
     * @param bulkWindow bytes, see {@link #BULK_WINDOW}
     */
    public PeerLink(String peer, long bulkWindow) {
        this(peer, bulkWindow, false);
    }

    private PeerLink(String peer, long bulkWindow, boolean trial) {
        this.peer = peer;
        this.bulkWindow = bulkWindow;
        this.trial = trial;
    }

    /** A second link to a peer, for the queue pair of a trial. No messages are exchanged over it. */
    public static PeerLink ofTrial(String peer) {
        return new PeerLink(peer, BULK_WINDOW, true);
    }

    /** Node id of the peer. */
    public String peer() {
        return peer;
    }

    public LinkPhase phase() {
        return phase;
    }

    /** Why the last queue pair was removed; empty if none was. */
    public String lastFailure() {
        return lastFailure;
    }

    /** Name of the device that the current queue pair is on; empty while there is none. */
    public String transport() {
        return transport;
    }

    /** Whether transfers may be posted. Any thread. */
    public boolean isUp() {
        return phase == LinkPhase.UP;
    }

    /**
     * Whether nothing is posted until what is under way has completed, since another queue pair, which is up, is used
     * then. A link that is too long about it breaks. The shard's thread only.
     */
    public boolean isSwitching() {
        return phase == LinkPhase.SWITCHING;
    }

    /** Whether there is a queue pair. */
    boolean isConnected() {
        return connection != null;
    }

    /** The queue pair and what belongs to it, of a link that has one. */
    Connection connection() {
        return Objects.requireNonNull(connection);
    }

    /** Whether there is a queue pair, and it is that of an attempt. */
    boolean isOfAttempt(long attempt) {
        return connection != null && connection.attempt() == attempt;
    }

    /** Whether there is a queue pair, and it is on a rail. */
    boolean isOn(Rail rail) {
        return connection != null && connection.rail() == rail;
    }

    /**
     * Whether the link is up and the pool behind it is the one that extents name. A peer that was started anew may have
     * another pool; what the former one held, only the coordinator says. The shard's thread only.
     */
    public boolean leadsTo(long pool) {
        return phase == LinkPhase.UP && connection().memory().pool() == pool;
    }

    int outstanding() {
        return outstanding;
    }

    /** @param deadlineNanos for the READ of the peer's header */
    void install(Connection fresh, long deadlineNanos) {
        use(fresh, number);
        granted = fresh.memory().granted();
        prepared = 0;
        outstanding = 0;
        bulk = 0;
        reserved = fresh.hello().isPresent() ? LinkChannel.SENDS : 0;
        released = false;
        refused = false;
        deadline = deadlineNanos;
        phase = LinkPhase.VERIFYING;
    }

    private void use(@Nullable Connection next, int itsNumber) {
        connection = next;
        number = itsNumber;
        transport = next == null ? "" : next.rail().name();
    }

    /** The peer has completed a READ of its header, or there is another queue pair on which it has. */
    void up(long now) {
        phase = LinkPhase.UP;
        connections++;
        answers.connected(now);
    }

    /**
     * Whether the peer has completed a request recently, has none to complete, or its link has just come up. The
     * shard's thread only, as the other methods about answers; times are by the shard's {@link SilenceClock}.
     */
    public boolean answers(long now) {
        return phase == LinkPhase.UP && (isQuiet() || !answers.isQuiet(now));
    }

    /** Whether requests are under way, and none has completed for longer than this. */
    public boolean isQuietFor(long nanos, long now) {
        return !isQuiet() && answers.isQuietFor(nanos, now);
    }

    /**
     * Whether a READ may begin: the peer answers, or one that did not has nothing under way, so that the READ shows
     * whether it does now.
     */
    public boolean takesReads(long now) {
        return phase == LinkPhase.UP && (isQuiet() || (answers(now) && !answers.wasQuiet()));
    }

    /** Another home was asked for what this peer has not sent for long: it is slow until it completes a request. */
    public void markSlow() {
        answers.markSlow();
    }

    /** Whether another home is preferred, see {@link #markSlow}. */
    public boolean isSlow() {
        return answers.isSlow();
    }

    /** How often the link has come up. The peer has completed a READ each time. The shard's thread only. */
    public long connections() {
        return connections;
    }

    /** Reads the peer's pool header into {@code localAddress}. */
    void prepareHeaderRead(long wrId, long localAddress, int length) {
        Connection over = connection();
        PeerMemory from = over.memory();
        over.queuePair()
                .prepareRead(
                        wrId,
                        localAddress,
                        length,
                        over.rail().stagingLkey(),
                        from.headerAddress(),
                        from.headerRkey(),
                        SendFlag.SIGNALED);
        prepared++;
    }

    /** The peer has granted other ranges than before. */
    void grant(PeerGrants now) {
        Connection over = connection;
        if (over != null) {
            granted = now.on(over.incarnation(), over.memory().device());
        }
    }

    /**
     * Whether a transfer of these bytes would be posted at once: the link is up, and its peer has granted them. The
     * shard's thread only.
     */
    public boolean takes(KeyUse use, long pool, long offset, int length) {
        return isUp() && leadsTo(pool) && isGranted(use, offset, length);
    }

    /**
     * Whether the peer has granted this node {@code length} bytes at {@code offset} of its exported frames, for the
     * device of the present queue pair, for such a use. The shard's thread only.
     */
    public boolean isGranted(KeyUse use, long offset, int length) {
        int found = granted.of(use).find(offset, length, range);
        if (found == GrantedRanges.NONE) {
            return false;
        }
        range = found;
        return true;
    }

    /** The key of the latest transfer that {@link #prepare} has added. */
    int preparedRkey(KeyUse use) {
        return granted.of(use).rkey(range);
    }

    /**
     * The peer refuses a key that was shown for {@code length} bytes at {@code offset}: it is no longer used. Does
     * nothing if the peer has granted the range with another key since.
     */
    void grantRefused(KeyUse use, long offset, int length, int rkey) {
        if (isGranted(use, offset, length) && granted.of(use).rkey(range) == rkey) {
            granted = granted.without(use, range);
        }
    }

    /**
     * Adds a transfer, of bytes that {@link #isGranted}, to the chain of this duty cycle.
     *
     * @param now by the shard's {@link SilenceClock}
     * @return false if the send queue is full
     */
    boolean prepare(KeyUse use, boolean write, long wrId, long offset, int length, long localAddress, long now) {
        Connection over = connection;
        if (over == null || over.queuePair().sendQueueSpace() <= reserved || !isGranted(use, offset, length)) {
            return false;
        }
        QueuePair qp = over.queuePair();
        if (isQuiet()) {
            answers.asked(now);
        }
        int lkey = over.rail().stagingLkey();
        long remote = granted.of(use).address(range, offset);
        int rkey = granted.of(use).rkey(range);
        if (write) {
            qp.prepareWrite(wrId, localAddress, length, lkey, remote, rkey, SendFlag.SIGNALED);
        } else {
            qp.prepareRead(wrId, localAddress, length, lkey, remote, rkey, SendFlag.SIGNALED);
        }
        prepared++;
        return true;
    }

    /**
     * Adds a SEND to the chain of this duty cycle. A queue pair that carries messages has room for it.
     *
     * @param signaled whether it completes by itself; if not, it does with the next one that is
     * @param now by the shard's {@link SilenceClock}
     */
    void prepareMessage(long wrId, long localAddress, int length, boolean signaled, long now) {
        Connection over = connection();
        over.queuePair()
                .prepareSend(wrId, localAddress, length, over.rail().stagingLkey(), signaled ? SendFlag.SIGNALED : 0);
        preparedOfMessages(signaled, now);
    }

    /**
     * Adds a WRITE of no bytes to the chain of this duty cycle: it completes once the peer has got all SENDs before it.
     * A device checks no key for it (InfiniBand Architecture Specification, C9-88).
     *
     * @param now by the shard's {@link SilenceClock}
     */
    void prepareFlush(long wrId, long localAddress, long now) {
        Connection over = connection();
        PeerMemory to = over.memory();
        over.queuePair()
                .prepareWrite(
                        wrId,
                        localAddress,
                        0,
                        over.rail().stagingLkey(),
                        to.headerAddress(),
                        to.headerRkey(),
                        SendFlag.SIGNALED);
        preparedOfMessages(true, now);
    }

    private void preparedOfMessages(boolean signaled, long now) {
        assert reserved > 0 : this;
        if (signaled) {
            if (isQuiet()) {
                answers.asked(now);
            }
        } else {
            unsignaled++;
            preparedUnsignaled++;
        }
        prepared++;
        reserved--;
    }

    /**
     * Work requests of messages have completed with one completion.
     *
     * @param completedUnsignaled those among them that were not signaled
     * @param signaled 1, or 0 if the completion is of one that was not
     * @param now by the shard's {@link SilenceClock}
     */
    void messagesCompleted(int completedUnsignaled, int signaled, boolean succeeded, long now) {
        reserved += completedUnsignaled + signaled;
        unsignaled -= completedUnsignaled;
        outstanding -= signaled;
        if (succeeded) {
            answers.answered(now);
        }
    }

    /** Whether it has queue pairs of trials, and those that these have replaced. */
    boolean isTrial() {
        return trial;
    }

    boolean wantsMessages() {
        return messagesWanted;
    }

    void wantMessages(boolean wanted) {
        messagesWanted = wanted;
    }

    /** What the queue pair has got to with messages; null if there is none, or it carries none. */
    @Nullable
    QueuePairMessages messages() {
        return messages;
    }

    void messages(QueuePairMessages ofQueuePair) {
        messages = ofQueuePair;
    }

    /** Whether another transfer of {@link Priority#BULK} may be posted. */
    boolean hasRoomForBulk() {
        return bulk < bulkWindow;
    }

    /** A transfer was added, {@code bytes} of it bulk. */
    void bulkPosted(int bytes) {
        bulk += bytes;
    }

    boolean hasPrepared() {
        return prepared > 0;
    }

    /** Posts the chain of this duty cycle with one doorbell. */
    void post() {
        int count = prepared - preparedUnsignaled;
        prepared = 0;
        preparedUnsignaled = 0;
        connection().queuePair().postSend();
        outstanding += count;
    }

    /** The READ of the peer's header has completed, which says nothing about its other memory. */
    void headerRead() {
        outstanding--;
    }

    /**
     * A transfer has completed.
     *
     * @param bulkBytes bytes of it that were posted as bulk
     * @param now by the shard's {@link SilenceClock}
     */
    void completed(int bulkBytes, boolean succeeded, long now) {
        outstanding--;
        bulk -= bulkBytes;
        assert bulk >= 0 : this + ": " + bulk;
        if (succeeded) {
            answers.answered(now);
        }
    }

    void drain(String reason, long deadlineNanos) {
        successor = null;
        phase = LinkPhase.DRAINING;
        drainReason = reason;
        deadline = deadlineNanos;
        lastFailure = reason;
    }

    /** Whether the queue pair may be destroyed and the control plane was not notified yet. */
    boolean isDrained(long nowNanos) {
        return phase == LinkPhase.DRAINING && !released && (outstanding <= 0 || nowNanos - deadline > 0);
    }

    /** The control plane was requested to destroy the queue pair. */
    void released() {
        released = true;
    }

    /** Sets whether the queue pair failed because a request was wrong. */
    void refused(boolean why) {
        refused = why;
    }

    boolean isRefused() {
        return refused;
    }

    boolean isReleased() {
        return released;
    }

    int number() {
        return number;
    }

    void number(int given) {
        number = given;
    }

    /** Stops posting, so that {@code next}'s queue pair replaces this one once no work is outstanding. */
    void switchTo(PeerLink next, long deadlineNanos) {
        successor = next;
        deadline = deadlineNanos;
        phase = LinkPhase.SWITCHING;
    }

    /** The link whose queue pair will replace this one, or null. */
    @Nullable
    PeerLink successor() {
        return successor;
    }

    /** Whether no work request is under way whose completion will be seen. */
    boolean isQuiet() {
        return outstanding == 0 && prepared == preparedUnsignaled;
    }

    /** Whether all that was posted has completed. */
    boolean isIdle() {
        return isQuiet() && unsignaled == 0;
    }

    boolean isLate(long nowNanos) {
        return (phase == LinkPhase.SWITCHING || phase == LinkPhase.VERIFYING) && nowNanos - deadline > 0;
    }

    /**
     * Exchanges queue pairs with {@code other}, which is up. This link's queue pair, if any, has no outstanding work.
     */
    void exchange(PeerLink other, long now) {
        Connection own = connection;
        int ownNumber = number;
        DeviceGrants ownGranted = granted;
        QueuePairMessages ownMessages = messages;
        int ownReserved = reserved;
        use(other.connection, other.number);
        granted = other.granted;
        messages = other.messages;
        reserved = other.reserved;
        other.use(own, ownNumber);
        other.granted = ownGranted;
        other.messages = ownMessages;
        other.reserved = ownReserved;
        other.phase = own == null ? LinkPhase.DOWN : LinkPhase.UP;
        successor = null;
        up(now);
    }

    String drainReason() {
        return drainReason;
    }

    /** Drops the queue pair. */
    void release() {
        use(null, NO_NUMBER);
        granted = DeviceGrants.NOTHING;
        messages = null;
        reserved = 0;
        released = false;
        outstanding = 0;
        prepared = 0;
        unsignaled = 0;
        preparedUnsignaled = 0;
        bulk = 0;
        phase = LinkPhase.DOWN;
    }

    @Override
    public String toString() {
        return "link to " + peer + " (" + phase + ")";
    }
}
