package io.farpage.it.simulation.engine;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/** Waits with a deadline in virtual time, in place of those of java.util.concurrent. */
public final class WaitHooks {
    private WaitHooks() {}

    private static Engine engine() {
        return Engine.get();
    }

    /** A wait that ends by an interruption at its deadline. */
    static final class Deadline implements AutoCloseable {
        private final Thread thread = Thread.currentThread();
        private final Engine.Timer timer;
        private boolean passed;

        Deadline(long nanos) {
            timer = engine().after(nanos, engine().running(), () -> {
                passed = true;
                thread.interrupt();
            });
        }

        @Override
        public void close() {
            timer.cancel();
            if (passed) {
                Thread.interrupted();
            }
        }
    }

    private static void requireNotInterrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    public static boolean tryAcquire(Semaphore semaphore, long time, TimeUnit unit) throws InterruptedException {
        requireNotInterrupted();
        if (semaphore.tryAcquire()) {
            return true;
        }
        if (time <= 0) {
            return false;
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                semaphore.acquire();
                return true;
            } catch (InterruptedException e) {
                return ended(deadline, e, semaphore.tryAcquire());
            }
        }
    }

    static <T> T ended(Deadline deadline, InterruptedException e, T value) throws InterruptedException {
        if (!deadline.passed) {
            throw e;
        }
        return value;
    }

    public static boolean await(CountDownLatch latch, long time, TimeUnit unit) throws InterruptedException {
        requireNotInterrupted();
        if (latch.getCount() == 0 || time <= 0) {
            return latch.getCount() == 0;
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                latch.await();
                return true;
            } catch (InterruptedException e) {
                return ended(deadline, e, latch.getCount() == 0);
            }
        }
    }

    public static Object get(Future<?> future, long time, TimeUnit unit)
            throws InterruptedException, ExecutionException, TimeoutException {
        requireNotInterrupted();
        if (future.isDone()) {
            return future.get();
        }
        if (time <= 0) {
            throw new TimeoutException();
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                return future.get();
            } catch (InterruptedException e) {
                if (ended(deadline, e, future.isDone())) {
                    return future.get();
                }
                throw new TimeoutException();
            }
        }
    }

    public static @Nullable Object poll(BlockingQueue<?> queue, long time, TimeUnit unit) throws InterruptedException {
        requireNotInterrupted();
        Object first = queue.poll();
        if (first != null || time <= 0) {
            return first;
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                return queue.take();
            } catch (InterruptedException e) {
                return deadline.passed ? queue.poll() : ended(deadline, e, null);
            }
        }
    }

    @SuppressWarnings("WaitNotInLoop") // the caller is in one
    public static long awaitNanos(Condition condition, long nanos) throws InterruptedException {
        requireNotInterrupted();
        if (nanos <= 0) {
            return nanos;
        }
        long end = engine().now() + nanos;
        try (Deadline deadline = new Deadline(nanos)) {
            try {
                condition.await();
            } catch (InterruptedException e) {
                ended(deadline, e, true);
            }
        }
        return end - engine().now();
    }

    public static boolean await(Condition condition, long time, TimeUnit unit) throws InterruptedException {
        return awaitNanos(condition, unit.toNanos(time)) > 0;
    }

    public static boolean tryLock(Lock lock, long time, TimeUnit unit) throws InterruptedException {
        requireNotInterrupted();
        if (lock.tryLock()) {
            return true;
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                lock.lockInterruptibly();
                return true;
            } catch (InterruptedException e) {
                return ended(deadline, e, lock.tryLock());
            }
        }
    }
}
