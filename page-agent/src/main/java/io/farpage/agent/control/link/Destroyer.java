package io.farpage.agent.control.link;

import io.farpage.verbs.QueuePair;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Destroys queue pairs, each on a virtual thread of its own: a device may take long, and may refuse. A refused
 * destruction is repeated until it succeeds, since the memory that a queue pair can access is not free before.
 * Meanwhile only its link stays down.
 */
final class Destroyer {
    private static final Logger log = LoggerFactory.getLogger(Destroyer.class);
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);

    private final Runnable wake;
    private final Map<QueuePair, Thread> underWay = new ConcurrentHashMap<>();
    private final Queue<Runnable> finished = new ConcurrentLinkedQueue<>();
    private volatile boolean stopping;

    /** @param wake called when {@link #runContinuations} has something to run; any thread */
    Destroyer(Runnable wake) {
        this.wake = wake;
    }

    /**
     * Destroys {@code queuePair}.
     *
     * @param of its link, for messages
     * @param then run by {@link #runContinuations} once the queue pair is destroyed
     */
    void destroy(QueuePair queuePair, String of, Runnable then) {
        Thread thread = Thread.ofVirtual().name("destroy " + of).unstarted(() -> run(queuePair, of, then));
        underWay.put(queuePair, thread);
        thread.start();
    }

    private void run(QueuePair queuePair, String of, Runnable then) {
        boolean destroyed = false;
        Duration pause = FIRST_PAUSE;
        // Once also if it is stopped before this thread runs: nothing else destroys the queue pair.
        do {
            try {
                queuePair.close();
                destroyed = true;
            } catch (RuntimeException e) {
                log.error(
                        "{}: its queue pair cannot be destroyed yet, and the link stays down until it is: {}",
                        of,
                        e.toString());
                sleep(pause);
                pause = pause.multipliedBy(2).compareTo(LONGEST_PAUSE) < 0 ? pause.multipliedBy(2) : LONGEST_PAUSE;
            }
        } while (!destroyed && !stopping);
        underWay.remove(queuePair);
        if (destroyed) {
            finished.add(then);
            wake.run();
        }
    }

    private static void sleep(Duration pause) {
        try {
            Thread.sleep(pause);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Runs the continuations of queue pairs whose destruction has completed. The links' thread. */
    void runContinuations() {
        for (Runnable then = finished.poll(); then != null; then = finished.poll()) {
            then.run();
        }
    }

    /**
     * Stops repeating, and waits for destructions that are under way.
     *
     * @return whether every queue pair is destroyed
     */
    boolean stop(Duration timeout) throws InterruptedException {
        stopping = true;
        long deadline = System.nanoTime() + timeout.toNanos();
        for (Map.Entry<QueuePair, Thread> one : Set.copyOf(underWay.entrySet())) {
            one.getValue().interrupt();
            if (!one.getValue().join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())))) {
                return false;
            }
        }
        return true;
    }
}
