package io.farpage.agent.data.shard;

import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.linux.NativeThread;
import io.farpage.linux.PollSet;
import io.farpage.linux.PosixException;
import io.farpage.linux.ThreadScheduling;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that runs a shard's duty cycles, and how it idles.
 *
 * <p>Sleeping and waking: the thread raises {@code asleep}, arms the completion queues, runs one more duty cycle, and
 * only then waits; a submitter adds its command, then reads {@code asleep}. Both accesses are volatile, so at least one
 * of the two sees the other: either the last duty cycle finds the command or the submitter signals the descriptor.
 */
public final class ShardLoop implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ShardLoop.class);
    private static final long NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    /** How long a sleep in a completion channel lasts at most, and so how long a command may wait. */
    private static final long RAIL_NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(150);

    /** Short enough that a process which stood still for as long as others wait for it sees that it did. */
    private static final long SLEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    /** Guests whose faults one shard serves; the agent refuses more. */
    public static final int MAX_DESCRIPTORS = 256;

    private final Shard shard;
    private final Options options;
    private final ThreadScheduling scheduling;
    private final Thread thread;
    private final EventFd wakeFd = new EventFd();
    private final PollSet pollSet = new PollSet(MAX_DESCRIPTORS);
    private final Errno errno = Errno.create();
    private volatile boolean asleep;
    /** Whether a source may have work that no descriptor announces. */
    private volatile boolean woken;

    private volatile boolean stopping;
    private volatile boolean clean;
    /** Whether the descriptors of sources have been polled since the latest duty cycle. */
    private boolean isPolled;

    /**
     * The thread of a shard.
     *
     * @param name of the thread
     * @param idle how it waits for work
     * @param spin how long {@link IdleStrategy#ADAPTIVE} spins before it sleeps
     * @param cpu to bind the thread to
     * @param scheduling how the kernel schedules it
     */
    public record Options(
            String name, IdleStrategy idle, Duration spin, OptionalInt cpu, ThreadScheduling scheduling) {}

    public ShardLoop(Shard shard, Options options) {
        this.shard = shard;
        this.options = options;
        scheduling = options.scheduling();
        thread = Thread.ofPlatform().name(options.name()).unstarted(this::run);
    }

    public void start() {
        thread.start();
    }

    public Shard shard() {
        return shard;
    }

    /** Queues a command and wakes the shard's thread. Any thread. */
    public void submit(ShardCommand command) {
        shard.submit(command);
        wake();
    }

    /** Wakes the shard's thread, because a source has work. Any thread. */
    public void wake() {
        woken = true;
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
            loop();
        } catch (Throwable t) {
            // Failures of a link, a device or a source are handled where they occur. This one is of the shard itself:
            // no fault of its guests would be served again, so the agent ends.
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
            log.error("{}: a queue pair could not be destroyed: {}", thread.getName(), e.getMessage());
        }
    }

    /** Whether the shard is closed and none of its queue pairs can reach memory. Any thread. */
    public boolean isClean() {
        return clean;
    }

    private void pin() {
        OptionalInt cpu = options.cpu();
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
        return options.idle() == IdleStrategy.SPIN;
    }

    private void loop() {
        switch (options.idle()) {
            case SPIN -> spin();
            case ADAPTIVE -> spinThenSleep();
            case BLOCK -> sleepAlways();
        }
    }

    /**
     * A duty cycle. If sources are many, their descriptors are polled before, in one call of the system, unless the
     * thread has just slept and knows which are readable.
     */
    private int work(boolean spins) {
        if (shard.hasManySources() && !isPolled) {
            pollSet.clear();
            shard.addSources(pollSet);
            if (pollSet.await(0) >= 0) {
                shard.polledSources(pollSet);
            }
        }
        isPolled = false;
        if (woken) {
            woken = false;
            shard.wakeSources();
        }
        return shard.doWork(spins);
    }

    /** Spins while a source needs polling or a transfer is under way. A node that only serves its peers sleeps. */
    private void spin() {
        while (!stopping) {
            if (work(true) > 0) {
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
        long spinNanos = options.spin().toNanos();
        long idleSince = System.nanoTime();
        while (!stopping) {
            scheduling.onDutyCycle();
            if (work(true) > 0 || shard.needsPolling()) {
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
            scheduling.onDutyCycle();
            // Armed before the duty cycle that may find no work, so that the thread can sleep right after it.
            asleep = true;
            shard.arm();
            if ((work(false) == 0 || shard.isQuiescent()) && !stopping) {
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
        if (work(false) == 0 && !stopping) {
            await();
        }
        asleep = false;
    }

    /** Whether the next sleep is in the channel of the only device, which arms itself for what was posted. */
    private boolean sleepsInChannel() {
        return shard.rails().size() == 1 && shard.awaitsOnlyTransfers();
    }

    /**
     * Sleeps until a descriptor is ready. While transfers on the only device are all that is waited for, sleeps in its
     * channel, which takes fewer system calls; else on all descriptors.
     */
    private void await() {
        if (sleepsInChannel()) {
            shard.await(shard.rails().getFirst(), RAIL_NAP_NANOS);
            shard.slept(RAIL_NAP_NANOS);
            return;
        }
        pollSet.clear();
        int wake = pollSet.add(wakeFd.fd(), PollSet.POLLIN);
        shard.addDescriptors(pollSet);
        long nap = shard.hasDeadlines() ? NAP_NANOS : SLEEP_NANOS;
        int ready = pollSet.await(nap);
        shard.slept(nap);
        if (ready < 0) {
            return;
        }
        if (pollSet.ready(wake) != 0) {
            wakeFd.drain(errno);
        }
        shard.polled(pollSet);
        isPolled = true;
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
