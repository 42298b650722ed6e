package io.farpage.it.simulation.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The monitors of {@code synchronized}: those of the JVM hand over to the next thread at moments of their own. */
public final class Monitors {
    private static final IdentityHashMap<Object, Monitor> HELD = new IdentityHashMap<>();

    private static final class Monitor {
        private @Nullable Thread owner;
        private int depth;
        private final Deque<Thread> waiting = new ArrayDeque<>();
    }

    private Monitors() {}

    public static void enter(Object object) {
        if (object == null) {
            throw new NullPointerException();
        }
        Thread self = Thread.currentThread();
        Monitor monitor = HELD.computeIfAbsent(object, _ -> new Monitor());
        boolean interrupted = false;
        while (monitor.owner != null && !self.equals(monitor.owner)) {
            monitor.waiting.add(self);
            interrupted |= Thread.interrupted();
            LockSupport.park();
            monitor.waiting.remove(self);
        }
        monitor.owner = self;
        monitor.depth++;
        if (interrupted) {
            self.interrupt();
        }
    }

    public static void exit(Object object) {
        Monitor monitor = HELD.get(object);
        if (monitor == null || !Thread.currentThread().equals(monitor.owner)) {
            throw new IllegalMonitorStateException();
        }
        monitor.depth--;
        if (monitor.depth == 0) {
            monitor.owner = null;
            Thread next = monitor.waiting.peek();
            if (next == null) {
                HELD.remove(object);
            } else {
                LockSupport.unpark(next);
            }
        }
    }
}
