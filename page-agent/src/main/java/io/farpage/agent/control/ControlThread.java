package io.farpage.agent.control;

import io.farpage.coordinator.client.CoordinatorException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A thread of the control plane: repeats a step whenever it is woken, and after the pause that the step asks for. A
 * step that fails is repeated after a pause of its own, so that a coordinator that is away, or one wrong answer, does
 * not end what the thread is for.
 */
public final class ControlThread implements AutoCloseable {
    /** The pause of a step that waits until it is woken. */
    public static final Duration UNTIL_WOKEN = Duration.ofDays(1);

    private static final Logger log = LoggerFactory.getLogger(ControlThread.class);

    private final Pauses pauses;
    private final Step step;
    private final Semaphore signal = new Semaphore(0);
    private final Thread thread;
    private volatile boolean stopping;

    /** What the thread repeats. */
    @FunctionalInterface
    public interface Step {
        /** Runs once. Returns how long to pause, unless the thread is woken. */
        Duration run() throws CoordinatorException, InterruptedException;
    }

    /**
     * How long the thread waits.
     *
     * @param first before the first step
     * @param afterFailure after a step that failed
     * @param close time for the current step to end when the thread must end
     */
    public record Pauses(Duration first, Duration afterFailure, Duration close) {}

    /** @param name for messages and thread dumps */
    public ControlThread(String name, Pauses pauses, Step step) {
        this(Thread.ofVirtual().name(name), pauses, step);
    }

    private ControlThread(Thread.Builder thread, Pauses pauses, Step step) {
        this.pauses = pauses;
        this.step = step;
        this.thread = thread.unstarted(this::run);
    }

    /** One whose step waits in native code, where a virtual thread would hold up others. */
    public static ControlThread ofPlatform(String name, Pauses pauses, Step step) {
        return new ControlThread(Thread.ofPlatform().daemon().name(name), pauses, step);
    }

    public void start() {
        thread.start();
    }

    /** Requests another run of the step. Any thread. */
    public void wake() {
        signal.release();
    }

    /** Whether the thread must end: a long step polls this. Any thread. */
    public boolean isStopping() {
        return stopping;
    }

    private void run() {
        Duration pause = pauses.first();
        while (true) {
            try {
                if (signal.tryAcquire(pause.toNanos(), TimeUnit.NANOSECONDS)) {
                    signal.drainPermits();
                }
                if (stopping) {
                    return;
                }
                pause = step.run();
            } catch (CoordinatorException e) {
                log.debug("{}: {}", thread.getName(), e.toString());
                pause = pauses.afterFailure();
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                log.error("{}: a step failed; it is repeated", thread.getName(), e);
                pause = pauses.afterFailure();
            }
        }
    }

    /** Ends the thread after the step that is under way, and waits for that. */
    @Override
    public void close() {
        end(false);
    }

    /** As {@link #close}, and interrupts a step that waits. */
    public void closeNow() {
        end(true);
    }

    private void end(boolean interrupt) {
        stopping = true;
        signal.release();
        if (interrupt) {
            thread.interrupt();
        }
        try {
            if (thread.getState() != Thread.State.NEW && !thread.join(pauses.close())) {
                log.warn("{} did not stop within {}", thread.getName(), pauses.close());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
