package io.farpage.verbs.soft;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * Tells when a thread has let go of what it may have looked up before: odd while it works with registered memory, even between.
 *
 * <p>{@link #enter} is a full fence: a thread that unpublishes a region with a volatile write and then finds the count even knows that
 * the thread cannot have seen that region, and will not.
 */
final class Quiescence {
    private static final VarHandle COUNT;
    private static final long PAUSE_NANOS = 20_000;

    static {
        try {
            COUNT = MethodHandles.lookup().findVarHandle(Quiescence.class, "count", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile int count;

    void enter() {
        COUNT.setVolatile(this, (int) COUNT.get(this) + 1);
    }

    void leave() {
        COUNT.setRelease(this, (int) COUNT.get(this) + 1);
    }

    /**
     * Waits until the thread has left what it was in when this was called.
     *
     * @return whether it did before {@code deadline} (nanoTime)
     */
    boolean awaitPassed(long deadline) {
        int seen = count;
        while ((seen & 1) == 1 && count == seen) {
            if (System.nanoTime() - deadline >= 0) {
                return false;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return true;
    }
}
