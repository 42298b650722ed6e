package io.farpage.agent.data.pager;

import io.farpage.linux.Epoll;
import io.farpage.linux.Errno;
import io.farpage.linux.PosixException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One descriptor that is readable while one of several is (epoll(7)). Where there is none to be had, because the process has as many as it
 * may, {@link #isBlind} says so until there is one. One thread.
 */
final class Watch implements AutoCloseable {
    private static final int NEVER_AWAITED = 1;
    static final int NONE = -1;

    static {
        // Loads the classes that a lack of descriptors brings into use: to load a class may take a descriptor, too.
        try {
            new Epoll(NEVER_AWAITED).close();
            throw new PosixException("epoll_create1", Errno.EMFILE);
        } catch (PosixException e) {
            // They are loaded.
        }
    }

    private final List<Integer> watched = new ArrayList<>();
    private @Nullable Epoll epoll;
    private boolean blind;

    /** Whether what is to be watched is not, so that only looking tells. */
    boolean isBlind() {
        return blind;
    }

    /**
     * Watches these descriptors, and no others.
     *
     * @return the descriptor to wait for, or {@link #NONE} if there is none to be had at the moment
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
