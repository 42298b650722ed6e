package io.farpage.verbs.soft;

import io.farpage.verbs.ResourceBusyException;
import io.farpage.verbs.VerbsException;
import java.util.LinkedHashSet;
import java.util.Set;

/** The open objects that came from a parent, which may close only when there are none. */
final class OpenChildren {
    private final String parent;
    private final Set<Object> open = new LinkedHashSet<>();
    private boolean closed;

    OpenChildren(String parent) {
        this.parent = parent;
    }

    synchronized void add(Object child) {
        requireOpen();
        open.add(child);
    }

    /** Returns whether it was open until now. */
    synchronized boolean remove(Object child) {
        return open.remove(child);
    }

    synchronized boolean contains(Object child) {
        return open.contains(child);
    }

    synchronized void requireOpen() {
        if (closed) {
            throw new VerbsException(parent + " is closed");
        }
    }

    /**
     * Closes the parent.
     *
     * @return false if it was closed already
     * @throws ResourceBusyException naming the children, if there are any
     */
    synchronized boolean close() {
        if (!open.isEmpty()) {
            throw new ResourceBusyException(
                    parent, open.stream().map(Object::toString).toList());
        }
        boolean first = !closed;
        closed = true;
        return first;
    }
}
