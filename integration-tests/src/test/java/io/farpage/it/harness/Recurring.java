package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A daemon thread that does something again and again, with a pause before each time, until it is closed. */
public final class Recurring implements AutoCloseable {
    private static final Duration LONGEST = Duration.ofSeconds(10);

    private final CountDownLatch ended = new CountDownLatch(1);
    private final Thread thread;

    /** @param action ends within ten seconds, on a quiet machine */
    public Recurring(String name, Duration pause, Runnable action) {
        thread = Thread.ofPlatform().daemon().name(name).start(() -> run(pause, action));
    }

    private void run(Duration pause, Runnable action) {
        try {
            while (!ended.await(pause.toNanos(), TimeUnit.NANOSECONDS)) {
                action.run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for the action that is under way. */
    @Override
    public void close() {
        ended.countDown();
        try {
            Deadlines.join("the end of " + thread.getName(), LONGEST, thread);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
