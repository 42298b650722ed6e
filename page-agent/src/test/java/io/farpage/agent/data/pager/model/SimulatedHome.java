package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.SimulatedNetwork.Transfer;
import io.farpage.agent.data.shard.Connection;
import io.farpage.agent.data.shard.LinkPhase;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardNotice;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A home on another node: the pages that live there, the link to it, and whether it answers. */
final class SimulatedHome {
    /** Half of what the agent waits for before it no longer counts on a home. */
    private static final long SLOW_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** Whether the coordinator says that the pages live there. */
    private enum Membership {
        HOME,
        JOINING,
        DROPPED,
        /** No home, and the agent has acknowledged that. */
        FREE
    }

    private final SimulatedNetwork network;
    private PeerLink link;
    private final int first;
    private final int end;
    private @Nullable SimulatedQueuePair queuePair;
    private long attempts;
    private boolean isSilent;
    private boolean isLost;
    private boolean isLossKnown;
    private boolean isSuspected;
    private Membership membership = Membership.HOME;
    private SimulatedPull pull = SimulatedPull.none();
    private long answers;
    private long quietSince;
    private final long bulkWindow;

    /**
     * @param number counted from 0
     * @param first the first of the pages that live there
     * @param end the page behind the last
     */
    SimulatedHome(int number, int first, int end, Setup setup) {
        String name = name(number);
        network = new SimulatedNetwork(name, setup.pages(), setup.pageBytes());
        bulkWindow = setup.has(Feature.NARROW) ? 1 : PeerLink.BULK_WINDOW;
        link = new PeerLink(name, bulkWindow);
        this.first = first;
        this.end = end;
    }

    static String name(int number) {
        return List.of("b", "c", "d").get(number);
    }

    SimulatedNetwork network() {
        return network;
    }

    PeerLink link() {
        return link;
    }

    boolean has(int page) {
        return page >= first && page < end;
    }

    boolean isLost() {
        return isLost;
    }

    boolean isSilent() {
        return isSilent;
    }

    boolean isUp() {
        return link.phase() == LinkPhase.UP;
    }

    /** Whether it completes transfers. */
    boolean answers() {
        return isUp() && !isSilent && !isLost;
    }

    /**
     * Records the time if the home has answered, or has nothing to answer, since the last call. Called before time
     * passes.
     */
    void observe(long nowNanos) {
        boolean isIdle = network.underWay().isEmpty() && (queuePair == null || !queuePair.hasPrepared());
        if (isIdle || network.answers() != answers) {
            answers = network.answers();
            quietSince = nowNanos;
        }
    }

    /** Whether the agent may count the home as silent, since no transfer has completed for long. */
    boolean isSlow(long nowNanos) {
        return nowNanos - quietSince > SLOW_NANOS;
    }

    boolean canConnect() {
        return queuePair == null && !isLost;
    }

    void connect(Shard shard) {
        SimulatedQueuePair fresh = network.connect();
        queuePair = fresh;
        shard.submit(new ShardCommand.Install(
                link,
                new Connection(fresh, network.rail(), SimulatedNetwork.INCARNATION, network.memory(), ++attempts)));
    }

    /**
     * The agent was killed. Its WRITEs may still arrive until the home has cut it off, which it does before it makes a
     * link to the successor.
     */
    void succeed() {
        if (queuePair != null) {
            queuePair.kill();
            queuePair = null;
        }
        network.forget();
        link = new PeerLink(link.peer(), bulkWindow);
    }

    /** The link breaks. */
    void fail() {
        if (queuePair != null) {
            queuePair.fail();
        }
    }

    /** From now on the home completes no transfer, and none fails by itself. */
    void fallSilent() {
        isSilent = true;
    }

    void answer() {
        isSilent = false;
    }

    /** The home restarts with empty memory. */
    void lose() {
        isLost = true;
        isSilent = false;
        fail();
    }

    /** The coordinator has found that this home was started anew: it is no longer a home. */
    void leave() {
        membership = Membership.FREE;
        network.joins(false);
    }

    /** The agent has asked to drop this home. */
    void suspect() {
        isSuspected = true;
    }

    /** The process that has asked is gone. */
    void forgetSuspicion() {
        isSuspected = false;
    }

    boolean isSuspected() {
        return isSuspected;
    }

    /** The coordinator has dropped this home. */
    void drop() {
        membership = Membership.DROPPED;
        network.joins(false);
    }

    /** Whether the pages live there, in their newest version unless they are resident. */
    boolean isMember() {
        return membership == Membership.HOME;
    }

    boolean isDropped() {
        return membership == Membership.DROPPED;
    }

    boolean isJoining() {
        return membership == Membership.JOINING;
    }

    /** Whether the coordinator may have it join. */
    boolean canJoin() {
        return membership == Membership.FREE && !isLost;
    }

    /** At the beginning it is not a home. */
    void stayAway() {
        membership = Membership.FREE;
        network.reuse();
    }

    /** The coordinator has it join, with frames of zeros. */
    void join() {
        membership = Membership.JOINING;
        pull = SimulatedPull.awaited(end);
        isSuspected = false;
        network.use();
        network.joins(true);
    }

    /** The copy that it makes itself while it joins. */
    SimulatedPull pull() {
        return pull;
    }

    /** The coordinator has promoted it. */
    void promote() {
        membership = Membership.HOME;
        isSuspected = false;
        network.joins(false);
    }

    /**
     * The agent has nothing under way to this home, which it was told is dropped: the home gives the frames to another
     * space.
     */
    void reuse() {
        membership = Membership.FREE;
        network.joins(false);
        network.reuse();
    }

    /** Whether the home is lost and the agent learns of it now, for the first time. */
    boolean learnOfLoss() {
        boolean news = isLost && !isLossKnown;
        isLossKnown = isLost;
        return news;
    }

    /** The shard has released a queue pair of this home. */
    void released(ShardNotice.Released notice, Shard shard) {
        notice.queuePair().close();
        shard.submit(new ShardCommand.Destroyed(notice.link(), notice.attempt()));
        queuePair = null;
    }

    /** Transfers that the home may carry out. */
    List<Transfer> underWay() {
        return isSilent ? List.of() : network.underWay();
    }

    /** Whether no transfer is under way that the home could end. */
    boolean isIdle() {
        return isSilent || network.isIdle();
    }
}
