package io.farpage.verbs.ibverbs;

import io.farpage.verbs.ResourceBusyException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The open objects that came from one parent, and whether that parent is open itself. A parent closes only without
 * children, and a child is made only while its parent is open: both under one lock, so no race leaves a child behind.
 * One lock for all of a device's objects, as one may have several parents. Thread-safe.
 */
final class Children {
    private final Object lock;
    private final String parent;
    private final Set<Object> open = Collections.newSetFromMap(new IdentityHashMap<>());
    /** Children that are made outside the lock just now. */
    private int making;

    private boolean closed;

    /**
     * @param lock the device's
     * @param parent name for messages
     */
    Children(Object lock, String parent) {
        this.lock = lock;
        this.parent = parent;
    }

    /** Makes a child. */
    <T> T add(Supplier<T> make) {
        synchronized (lock) {
            requireOpen();
            T child = make.get();
            open.add(child);
            return child;
        }
    }

    /**
     * Makes a child that may take long, without the lock: other objects of the device come and go meanwhile. The parent
     * does not close.
     */
    <T> T addSlowly(Supplier<T> make) {
        synchronized (lock) {
            requireOpen();
            making++;
        }
        try {
            T child = make.get();
            synchronized (lock) {
                open.add(child);
            }
            return child;
        } finally {
            synchronized (lock) {
                making--;
            }
        }
    }

    void remove(Object child) {
        synchronized (lock) {
            open.remove(child);
        }
    }

    /** @throws IllegalStateException if the parent is closed */
    void requireOpen() {
        synchronized (lock) {
            if (closed) {
                throw new IllegalStateException(parent + " is closed");
            }
        }
    }

    /**
     * Closes the parent with {@code release}, once. If that throws, the parent stays open.
     *
     * @throws ResourceBusyException naming the children, if there are any
     */
    void close(Runnable release) {
        synchronized (lock) {
            if (closed) {
                return;
            }
            if (!open.isEmpty() || making > 0) {
                List<String> names = new ArrayList<>();
                if (making > 0) {
                    names.add(making + " being made");
                }
                open.forEach(child -> names.add(child.toString()));
                Collections.sort(names);
                throw new ResourceBusyException(parent, names);
            }
            release.run();
            closed = true;
        }
    }
}
