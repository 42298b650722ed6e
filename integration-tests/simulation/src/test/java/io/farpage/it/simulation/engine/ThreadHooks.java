package io.farpage.it.simulation.engine;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Threads of the simulated processes, their sleep and their end, in place of those of the JDK. */
public final class ThreadHooks {
    private static final long SPIN_NANOS = 1_000;

    private ThreadHooks() {}

    private static Engine engine() {
        return Engine.get();
    }

    public static Thread.Builder.OfVirtual ofVirtual() {
        return Threads.ofVirtual(engine().running());
    }

    public static Thread startVirtualThread(Runnable task) {
        return ofVirtual().start(task);
    }

    public static ExecutorService newVirtualThreadPerTaskExecutor() {
        return Executors.newThreadPerTaskExecutor(ofVirtual().factory());
    }

    public static void onSpinWait() {
        engine().pause(SPIN_NANOS);
    }

    public static void relinquish() {
        engine().pause(SPIN_NANOS);
    }

    public static void sleep(long millis) throws InterruptedException {
        await(millis * 1_000_000);
    }

    public static void sleep(Duration time) throws InterruptedException {
        await(time.toNanos());
    }

    public static void sleep(TimeUnit unit, long time) throws InterruptedException {
        await(unit.toNanos(time));
    }

    private static void await(long nanos) throws InterruptedException {
        boolean[] fired = new boolean[1];
        Thread thread = Thread.currentThread();
        Engine.Timer timer = engine().after(nanos, engine().running(), () -> {
            fired[0] = true;
            LockSupport.unpark(thread);
        });
        while (!fired[0]) {
            if (Thread.interrupted()) {
                timer.cancel();
                throw new InterruptedException();
            }
            LockSupport.park();
        }
    }

    public static void parkNanos(long nanos) {
        parkNanos(engine(), nanos);
    }

    public static void parkNanos(Object blocker, long nanos) {
        if (nanos <= 0) {
            return;
        }
        Thread thread = Thread.currentThread();
        Engine.Timer timer = engine().after(nanos, engine().running(), () -> LockSupport.unpark(thread));
        LockSupport.park(blocker);
        timer.cancel();
    }

    public static boolean join(Thread thread, Duration time) throws InterruptedException {
        if (!thread.isAlive()) {
            return true;
        }
        try (WaitHooks.Deadline deadline = new WaitHooks.Deadline(time.toNanos())) {
            try {
                thread.join();
                return true;
            } catch (InterruptedException e) {
                return WaitHooks.ended(deadline, e, !thread.isAlive());
            }
        }
    }

    public static void join(Thread thread, long millis) throws InterruptedException {
        var _ = join(thread, Duration.ofMillis(millis));
    }

    public static void halt(Runtime runtime, int status) {
        engine().fail(engine().running() + " halts with status " + status);
        LockSupport.park();
    }
}
