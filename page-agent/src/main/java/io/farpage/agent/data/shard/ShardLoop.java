package io.farpage.agent.data.shard;

import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.linux.NativeThread;
import io.farpage.linux.PollSet;
import io.farpage.linux.PosixException;
import io.farpage.linux.ThreadScheduling;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that turns a shard over, and how it idles.
 *
 * <p>Sleeping and waking: the thread raises {@code asleep}, arms the completion queues, takes one more turn, and only then waits; a
 * submitter adds its command, then looks at {@code asleep}. Both accesses are volatile, so at least one of the two sees the other:
 * either the last turn finds the command or the submitter signals the descriptor.
 */
public final class ShardLoop implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ShardLoop.class);
    private static final long NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    /** Long enough for a channel that can sleep in the very call that receives the page; commands wait this long at most. */
    private static final long RAIL_NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(150);

    private static final long SLEEP_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private static final int MAX_RAILS = 16;

    /** Guests whose faults one shard serves; the agent refuses more. */
    public static final int MAX_DESCRIPTORS = 256;

    private final Shard shard;
    private final IdleStrategy idle;
    private final long spinNanos;
    private final OptionalInt cpu;
    private final ThreadScheduling scheduling;
    private final Thread thread;
    private final EventFd wakeFd = new EventFd();
    private final PollSet pollSet = new PollSet(MAX_RAILS + 1 + MAX_DESCRIPTORS);
    private final Errno errno = Errno.create();
    private volatile boolean asleep;
    private volatile boolean stopping;
    private volatile boolean clean;

    /**
     * @param name of the thread
     * @param spin how long {@link IdleStrategy#ADAPTIVE} looks again before it sleeps
     * @param cpu to bind the thread to
     * @param scheduling of the thread
     */
    public ShardLoop(
            String name, Shard shard, IdleStrategy idle, Duration spin, OptionalInt cpu, ThreadScheduling scheduling) {
        this.shard = shard;
        this.idle = idle;
        this.spinNanos = spin.toNanos();
        this.cpu = cpu;
        this.scheduling = scheduling;
        this.thread = Thread.ofPlatform().name(name).unstarted(this::run);
    }

    public void start() {
        thread.start();
    }

    public Shard shard() {
        return shard;
    }

    /** Tells the shard something and wakes its thread. Any thread. */
    public void submit(ShardCommand command) {
        shard.submit(command);
        wake();
    }

    /** Wakes the shard's thread after something was put where one of its sources will find it. Any thread. */
    public void wake() {
        if (asleep) {
            wakeFd.signal(Errno.create());
        }
    }

    /** The thread, for its CPU time and allocation counters. */
    public Thread thread() {
        return thread;
    }

    private void run() {
        pin();
        scheduling.start();
        log.info("{}: scheduled {}", thread.getName(), scheduling.describe());
        try {
            turnOver();
        } catch (Throwable t) {
            // What belongs to a link, a device or a source ends there. This is the shard's own state or the system's:
            // no
            // fault of any guest on it would be answered again, so nothing is saved by going on.
            log.error("{} died; stopping the agent", thread.getName(), t);
            Runtime.getRuntime().halt(70);
        } finally {
            close(shard);
        }
    }

    private void close(Shard ending) {
        try {
            ending.close();
            clean = true;
        } catch (VerbsException e) {
            log.error("{}: a queue pair is left behind: {}", thread.getName(), e.getMessage());
        }
    }

    /** Whether the shard is closed and none of its queue pairs can reach memory any more. Any thread. */
    public boolean isClean() {
        return clean;
    }

    private void pin() {
        if (cpu.isEmpty()) {
            return;
        }
        try {
            NativeThread.pinTo(cpu.getAsInt());
        } catch (PosixException e) {
            log.warn("{} is not bound to cpu {}: {}", thread.getName(), cpu.getAsInt(), e.getMessage());
        }
    }

    /** How the kernel schedules the thread. */
    public ThreadScheduling scheduling() {
        return scheduling;
    }

    /** Whether the thread never sleeps while there is a guest. */
    public boolean spins() {
        return idle == IdleStrategy.SPIN;
    }

    private void turnOver() {
        switch (idle) {
            case SPIN -> spin();
            case ADAPTIVE -> spinThenSleep();
            case BLOCK -> sleepAlways();
        }
    }

    /** Spins while something may come that no descriptor tells of, or is awaited; a node that only serves its peers sleeps. */
    private void spin() {
        while (!stopping) {
            if (shard.doWork(true) > 0) {
                continue;
            }
            if (shard.needsPolling() || shard.hasDeadlines()) {
                Thread.onSpinWait();
            } else {
                sleep();
            }
        }
    }

    private void spinThenSleep() {
        long idleSince = System.nanoTime();
        while (!stopping) {
            scheduling.turn();
            if (shard.doWork(true) > 0 || shard.needsPolling()) {
                idleSince = System.nanoTime();
            } else if (System.nanoTime() - idleSince < spinNanos) {
                Thread.onSpinWait();
            } else {
                sleep();
                idleSince = System.nanoTime();
            }
        }
    }

    private void sleepAlways() {
        while (!stopping) {
            scheduling.turn();
            // Armed before the turn that may find nothing, so that no second look is needed before sleeping.
            asleep = true;
            shard.arm();
            if ((shard.doWork() == 0 || (sleepsInChannel() && shard.isSettled())) && !stopping) {
                if (shard.needsPolling()) {
                    Thread.onSpinWait();
                } else {
                    await();
                }
            }
            asleep = false;
        }
    }

    private void sleep() {
        asleep = true;
        shard.arm();
        if (shard.doWork() == 0 && !stopping) {
            await();
        }
        asleep = false;
    }

    /** Whether the next sleep is in the channel of the only device, which itself arms for what the turn before has posted. */
    private boolean sleepsInChannel() {
        return shard.rails().size() == 1 && shard.awaitsOnlyTransfers();
    }

    /**
     * Sleeps until a descriptor is ready. While transfers on the only device are all there is to wait for, sleeps in its channel, which
     * takes fewer system calls; else on all descriptors together.
     */
    private void await() {
        List<Rail> rails = shard.rails();
        if (sleepsInChannel()) {
            shard.await(rails.getFirst(), RAIL_NAP_NANOS);
            shard.clockIsStale();
            return;
        }
        pollSet.clear();
        pollSet.add(wakeFd.fd(), PollSet.POLLIN);
        for (int i = 0; i < rails.size(); i++) {
            pollSet.add(rails.get(i).channel().fileDescriptor(), PollSet.POLLIN);
        }
        shard.addDescriptors(pollSet);
        pollSet.await(shard.hasDeadlines() ? NAP_NANOS : SLEEP_NANOS);
        shard.clockIsStale();
        if (pollSet.ready(0) != 0) {
            wakeFd.drain(errno);
        }
        // From the last to the first: one that fails is taken out, which must not move those still to be looked at.
        for (int i = rails.size() - 1; i >= 0; i--) {
            if (pollSet.ready(i + 1) != 0) {
                shard.await(rails.get(i), 0);
            }
        }
    }

    /** Stops the thread, which closes the shard first. Waits for it. */
    @Override
    public void close() {
        stopping = true;
        wakeFd.signal(Errno.create());
        try {
            if (thread.getState() == Thread.State.NEW) {
                close(shard);
            } else if (!thread.join(CLOSE_TIMEOUT)) {
                log.warn("{} did not stop within {}", thread.getName(), CLOSE_TIMEOUT);
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        wakeFd.close();
    }
}
