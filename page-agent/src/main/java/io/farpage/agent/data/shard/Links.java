package io.farpage.agent.data.shard;

import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.header.PoolHeaderException;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The links of a shard, from the installation of a queue pair to its destruction: verified, up, switched to a better
 * transport, drained, released. The shard's thread only.
 */
final class Links {
    private static final Logger log = LoggerFactory.getLogger(Links.class);
    private static final long DRAIN_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Many times what a device takes to give up retries. A completion that takes longer never comes. */
    static final long VERIFICATION_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final LinkSlots slots;
    private final Fetchers fetchers;
    private final Messages messages;
    private final LongSupplier clock;
    private final Consumer<ShardNotice> notices;
    private final PeerLink[] chained;
    private int chainedCount;
    /** Links with a deadline: those that are neither up nor down. */
    private int busy;

    private int switching;

    /**
     * @param headerFrames staging memory for peers' pool headers
     * @param fetchers whose transfers go over the links
     * @param messages what is exchanged over them beside transfers
     * @param clock by which deadlines are judged, see {@link SilenceClock#read}
     * @param notices receives what the control plane is told
     */
    Links(
            MemorySegment headerFrames,
            Fetchers fetchers,
            Messages messages,
            LongSupplier clock,
            Consumer<ShardNotice> notices) {
        slots = new LinkSlots(headerFrames);
        this.fetchers = fetchers;
        this.messages = messages;
        this.clock = clock;
        this.notices = notices;
        chained = new PeerLink[slots.capacity()];
    }

    /** Whether a link has a deadline. */
    boolean areBusy() {
        return busy > 0;
    }

    /** Transfers have completed: links that wait for the last of theirs may be switched. */
    void transfersCompleted() {
        if (switching > 0) {
            finishSwitches();
        }
    }

    /** Gives a link its queue pair, and reads the peer's pool header over it. */
    void install(PeerLink link, Connection connection) {
        if (connection.rail().hasFailed()) {
            refuse(
                    link,
                    connection,
                    "the completion queue of " + connection.rail().name() + " has failed");
            return;
        }
        if (!slots.assign(link)) {
            refuse(link, connection, "no room for more than " + slots.capacity() + " links");
            return;
        }
        link.install(connection, clock.getAsLong() + VERIFICATION_NANOS);
        busy++;
        try {
            link.prepareHeaderRead(
                    slots.headerWrId(link), slots.headerFrame(link).address(), PoolHeader.BYTES);
            postLater(link);
        } catch (VerbsException e) {
            failLink(link, e.toString());
        }
        messages.installed(link);
    }

    private void refuse(PeerLink link, Connection connection, String reason) {
        notices.accept(new ShardNotice.Released(link, connection.attempt(), connection.queuePair(), reason, false));
    }

    /** Stops posting on the link until it can use the trial's queue pair. */
    void beginSwitch(PeerLink link, PeerLink trial) {
        boolean isTrialUp = trial.phase() == LinkPhase.UP;
        if (isTrialUp && link.phase() == LinkPhase.DOWN) {
            exchange(link, trial);
        } else if (isTrialUp && link.phase() == LinkPhase.UP) {
            link.switchTo(trial, clock.getAsLong() + DRAIN_NANOS);
            busy++;
            switching++;
            finishSwitches();
        }
    }

    /**
     * Switches links without outstanding work: all their WRITEs have reached the home before anything is posted on the
     * new queue pair.
     */
    void finishSwitches() {
        for (int number = 0; number < slots.capacity(); number++) {
            PeerLink link = slots.get(number);
            if (link == null || link.phase() != LinkPhase.SWITCHING || !link.isIdle()) {
                continue;
            }
            PeerLink trial = Objects.requireNonNull(link.successor());
            busy--;
            switching--;
            if (trial.phase() == LinkPhase.UP) {
                exchange(link, trial);
            } else {
                link.up(clock.getAsLong()); // the trial has failed meanwhile
                messages.up(link);
                fetchers.retryParked();
            }
        }
    }

    private void exchange(PeerLink link, PeerLink trial) {
        link.exchange(trial, clock.getAsLong());
        slots.exchanged(link, trial);
        messages.exchanged(link, trial);
        notices.accept(new ShardNotice.Switched(link, trial, link.connection().attempt()));
        fetchers.retryParked();
    }

    /** Schedules {@code link}'s chain to be posted at the end of the duty cycle. */
    void postLater(PeerLink link) {
        for (int i = 0; i < chainedCount; i++) {
            if (chained[i] == link) {
                return;
            }
        }
        chained[chainedCount++] = link;
    }

    /** Posts the chains: one doorbell for each link. Returns how many. */
    int post() {
        int work = chainedCount;
        for (int i = 0; i < chainedCount; i++) {
            PeerLink link = chained[i];
            try {
                messages.beforePost(link);
                if (link.hasPrepared()) {
                    link.post();
                }
            } catch (VerbsException e) {
                failLink(link, e.toString());
            }
        }
        chainedCount = 0;
        return work;
    }

    /** The header of a peer was read, or could not be. */
    void headerRead(WorkCompletion wc) {
        PeerLink link = slots.ofHeader(wc.wrId());
        if (link != null) {
            link.headerRead();
            verify(link, wc);
        }
    }

    private void verify(PeerLink link, WorkCompletion wc) {
        if (link.phase() != LinkPhase.VERIFYING) {
            return;
        }
        if (!wc.isSuccess()) {
            failLink(link, "reading the pool header of " + link.peer() + " failed: " + wc);
            return;
        }
        try {
            PoolHeader header = PoolHeader.readFrom(slots.headerFrame(link));
            header.verify(
                    link.peer(),
                    link.connection().incarnation(),
                    link.connection().memory().pool());
        } catch (PoolHeaderException e) {
            failLink(link, "the peer is not the node that the coordinator named: " + e.getMessage());
            return;
        }
        link.up(clock.getAsLong());
        busy--;
        notices.accept(new ShardNotice.Up(link, link.connection().attempt()));
        messages.up(link);
        fetchers.retryParked();
    }

    /**
     * A rail's completion queue has failed: its links are released without waiting for completions, since none can
     * arrive.
     */
    void railFailed(Rail rail, String reason) {
        for (int number = 0; number < slots.capacity(); number++) {
            PeerLink link = slots.get(number);
            if (link != null && link.isOn(rail) && !link.isReleased()) {
                failLink(link, reason);
                link.drain(reason, clock.getAsLong() - 1);
            }
        }
    }

    /** Moves the link's queue pair to ERR; it is released once its outstanding work requests have completed. */
    void failLink(PeerLink link, String reason) {
        if (!link.isConnected() || link.phase() == LinkPhase.DRAINING) {
            return;
        }
        if (link.phase() == LinkPhase.UP) {
            busy++;
        } else if (link.phase() == LinkPhase.SWITCHING) {
            switching--;
        }
        link.drain(reason, clock.getAsLong() + DRAIN_NANOS);
        messages.failed(link);
        try {
            link.connection().queuePair().modifyToErr();
        } catch (RuntimeException e) {
            // The device may be gone. Destroying the queue pair, which comes next, ends its access to memory in any
            // case.
            link.drain(reason + "; " + e, clock.getAsLong());
        }
    }

    /** Releases links that are drained, and fails those that are late. Returns the amount of work. */
    int check(long now) {
        int work = 0;
        if (busy == 0) {
            return 0;
        }
        for (int number = 0; number < slots.capacity(); number++) {
            PeerLink link = slots.get(number);
            if (link == null) {
                continue;
            }
            if (link.isLate(now)) {
                failLink(
                        link,
                        link.phase() == LinkPhase.VERIFYING
                                ? "reading the pool header of " + link.peer() + " did not complete"
                                : "outstanding requests did not complete in time for the switch to a better transport");
                work++;
            }
            if (link.isDrained(now)) {
                link.released();
                notices.accept(new ShardNotice.Released(
                        link,
                        link.connection().attempt(),
                        link.connection().queuePair(),
                        link.drainReason(),
                        link.isRefused()));
                work++;
            }
        }
        if (switching > 0) {
            finishSwitches();
        }
        return work;
    }

    /**
     * The queue pair is destroyed, so the device no longer accesses the memory of transfers that never completed: they
     * can be posted again.
     */
    void destroyed(PeerLink link) {
        slots.free(link);
        messages.destroyed(link);
        link.release();
        busy--;
        fetchers.reclaim(link);
        fetchers.retryParked();
    }

    /**
     * Fails all links and destroys their queue pairs.
     *
     * @throws VerbsException if one could not be destroyed, after all others were
     */
    void close() {
        VerbsException undestroyed = null;
        for (int number = 0; number < slots.capacity(); number++) {
            PeerLink link = slots.get(number);
            if (link == null) {
                continue;
            }
            failLink(link, "the agent is shutting down");
            try {
                link.connection().queuePair().close();
                destroyed(link);
            } catch (VerbsException e) {
                log.error("the queue pair of {} could not be destroyed", link, e);
                undestroyed = e;
            }
        }
        if (undestroyed != null) {
            throw undestroyed;
        }
    }
}
