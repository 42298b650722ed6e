package io.farpage.it.simulation.engine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** File descriptors that no kernel has: what threads wait for with poll(2). */
public final class Descriptors {
    private static final int FIRST = 1 << 24;
    private static final Map<Integer, Descriptor> OPEN = new HashMap<>();
    private static int next = FIRST;

    private static final class Descriptor {
        private final Object object;
        private final BooleanSupplier readable;
        private final BooleanSupplier hungUp;
        private final List<Thread> waiting = new ArrayList<>();

        Descriptor(Object object, BooleanSupplier readable, BooleanSupplier hungUp) {
            this.object = object;
            this.readable = readable;
            this.hungUp = hungUp;
        }
    }

    private Descriptors() {}

    /** Opens one for an object. */
    public static int open(Object object, BooleanSupplier readable) {
        return open(object, readable, () -> false);
    }

    /** As {@link #open(Object, BooleanSupplier)}, of a connection, whose peer may have ended it. */
    static int open(Object object, BooleanSupplier readable, BooleanSupplier hungUp) {
        OPEN.put(next, new Descriptor(object, readable, hungUp));
        return next++;
    }

    public static boolean isSimulated(int fd) {
        return fd >= FIRST;
    }

    public static boolean isReadable(int fd) {
        Descriptor descriptor = OPEN.get(fd);
        return descriptor != null && descriptor.readable.getAsBoolean();
    }

    /** Whether the peer of a connection has ended it. */
    public static boolean isHungUp(int fd) {
        Descriptor descriptor = OPEN.get(fd);
        return descriptor != null && descriptor.hungUp.getAsBoolean();
    }

    /** What an open descriptor stands for, if it is of a type. */
    static <T> Optional<T> find(int fd, Class<T> type) {
        return Optional.ofNullable(OPEN.get(fd))
                .map(descriptor -> descriptor.object)
                .filter(type::isInstance)
                .map(type::cast);
    }

    /** What a descriptor stands for. */
    public static <T> T object(int fd, Class<T> type) {
        Descriptor descriptor = OPEN.get(fd);
        if (descriptor == null) {
            throw new IllegalStateException("descriptor " + fd + " is closed");
        }
        return type.cast(descriptor.object);
    }

    /** Wakes the threads that wait for a descriptor. */
    public static void changed(int fd) {
        Descriptor descriptor = OPEN.get(fd);
        if (descriptor != null && descriptor.readable.getAsBoolean()) {
            List.copyOf(descriptor.waiting).forEach(LockSupport::unpark);
        }
    }

    public static void close(int fd) {
        OPEN.remove(fd);
    }

    /** Waits until one of them is readable, so long at most; negative: without limit. */
    public static void await(int[] fds, int count, long nanos) {
        Engine engine = Engine.get();
        Thread self = Thread.currentThread();
        boolean[] passed = new boolean[1];
        Engine.Timer timer = nanos < 0
                ? null
                : engine.after(nanos, engine.running(), () -> {
                    passed[0] = true;
                    LockSupport.unpark(self);
                });
        for (int i = 0; i < count; i++) {
            Descriptor descriptor = OPEN.get(fds[i]);
            if (descriptor != null) {
                descriptor.waiting.add(self);
            }
        }
        boolean interrupted = false;
        while (!passed[0] && !anyReadable(fds, count)) {
            interrupted |= Thread.interrupted();
            LockSupport.park();
        }
        for (int i = 0; i < count; i++) {
            Descriptor descriptor = OPEN.get(fds[i]);
            if (descriptor != null) {
                descriptor.waiting.remove(self);
            }
        }
        if (timer != null) {
            timer.cancel();
        }
        if (interrupted) {
            self.interrupt();
        }
    }

    private static boolean anyReadable(int[] fds, int count) {
        for (int i = 0; i < count; i++) {
            if (isReadable(fds[i])) {
                return true;
            }
        }
        return false;
    }
}
