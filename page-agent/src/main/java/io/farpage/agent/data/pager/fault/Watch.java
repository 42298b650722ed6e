package io.farpage.agent.data.pager.fault;

import io.farpage.linux.Epoll;
import io.farpage.linux.Errno;
import io.farpage.linux.PosixException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One descriptor that is readable while one of several is (epoll(7)). While the process has no descriptor left for it,
 * {@link #isBlind} is true. One thread.
 */
final class Watch implements AutoCloseable {
    private static final int NEVER_AWAITED = 1;
    static final int NONE = -1;

    static {
        // Loads the classes that are used when descriptors run out: loading a class may need a descriptor.
        try {
            new Epoll(NEVER_AWAITED).close();
            throw new PosixException("epoll_create1", Errno.EMFILE);
        } catch (PosixException e) {
            // The classes are loaded.
        }
    }

    private final List<Integer> watched = new ArrayList<>();
    private @Nullable Epoll epoll;
    private boolean blind;

    /** Whether the descriptors are not watched, so that they have to be polled. */
    boolean isBlind() {
        return blind;
    }

    /**
     * Watches these descriptors, and no others.
     *
     * @return the descriptor to wait for, or {@link #NONE} if there is none
     */
    int of(List<Integer> descriptors) {
        try {
            Epoll all = epoll;
            if (all == null) {
                all = new Epoll(NEVER_AWAITED);
                epoll = all;
            }
            for (Iterator<Integer> each = watched.iterator(); each.hasNext(); ) {
                Integer descriptor = each.next();
                if (!descriptors.contains(descriptor)) {
                    each.remove();
                    all.remove(descriptor);
                }
            }
            for (Integer descriptor : descriptors) {
                if (!watched.contains(descriptor)) {
                    all.add(descriptor, Epoll.EPOLLIN);
                    watched.add(descriptor);
                }
            }
            blind = false;
            return all.fd();
        } catch (PosixException e) {
            blind = true;
            return NONE;
        }
    }

    /** The descriptor is about to be closed. */
    void forget(int descriptor) {
        Epoll all = epoll;
        if (all != null && watched.remove(Integer.valueOf(descriptor))) {
            all.remove(descriptor);
        }
    }

    @Override
    public void close() {
        if (epoll != null) {
            epoll.close();
            epoll = null;
        }
        watched.clear();
        blind = false;
    }
}
