package io.farpage.verbs.soft;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * Tells whether a thread still uses regions that it found earlier. The count is odd while the thread works with
 * registered memory, even in between.
 *
 * <p>{@link #enter} is a full fence. A thread that removes a region from the table with a volatile write and then reads
 * an even count knows that the other thread does not use that region and can no longer find it.
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
     * Waits until the thread has left the section that it was in at the time of the call.
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
