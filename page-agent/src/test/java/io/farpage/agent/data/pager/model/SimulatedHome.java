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

    private final SimulatedNetwork network;
    private final PeerLink link;
    private final int first;
    private final int end;
    private @Nullable SimulatedQueuePair queuePair;
    private long attempts;
    private boolean isSilent;
    private boolean isLost;
    private boolean isLossKnown;
    private long answers;
    private long quietSince;

    /**
     * @param number counted from 0
     * @param first the first of the pages that live there
     * @param end the page behind the last
     */
    SimulatedHome(int number, int first, int end, Setup setup) {
        String name = name(number);
        network = new SimulatedNetwork(name, setup.pages(), setup.pageBytes());
        link = new PeerLink(name);
        this.first = first;
        this.end = end;
    }

    static String name(int number) {
        return number == 0 ? "b" : "c";
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

    /** Records the time if the home has answered, or has nothing to answer, since the last call. Called before time passes. */
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

    /** The home restarts with empty memory, and the agent is about to learn that. */
    void lose(Shard shard) {
        isLost = true;
        isSilent = false;
        shard.submit(new ShardCommand.SetIncarnation(link, SimulatedNetwork.INCARNATION + 1));
        fail();
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
