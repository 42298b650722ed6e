package io.farpage.verbs.soft;

import io.farpage.linux.Epoll;
import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import java.util.Arrays;

/**
 * What a completion channel sleeps on: an epoll descriptor over the sockets of initiators, where replies arrive, and an
 * event descriptor that ends a sleep.
 */
final class ChannelPoll implements AutoCloseable {
    private static final int EVENTS = 16;

    /** Whose socket is watched. */
    interface Watched {
        /**
         * The socket has ended a sleep. If nothing is expected on it, it is broken or closed, and would end every sleep
         * at once.
         *
         * @return whether nothing is expected; the socket is then watched no longer
         */
        boolean unwatchIfIdle();
    }

    private record Watch(Watched initiator, int fd) {}

    private final Epoll epoll = new Epoll(EVENTS);
    private final EventFd event = new EventFd();
    private final Errno errno = Errno.create();
    private volatile Watch[] watches = {};
    private volatile boolean exposed;

    ChannelPoll() {
        epoll.add(event.fd(), Epoll.EPOLLIN);
    }

    synchronized void watch(Watched initiator, int fd, int interest) {
        epoll.add(fd, interest);
        Watch[] more = Arrays.copyOf(watches, watches.length + 1);
        more[watches.length] = new Watch(initiator, fd);
        watches = more;
    }

    synchronized void rewatch(int fd, int interest) {
        epoll.modify(fd, interest);
    }

    synchronized void unwatch(int fd) {
        epoll.remove(fd);
        watches = Arrays.stream(watches).filter(w -> w.fd() != fd).toArray(Watch[]::new);
    }

    /** Ends a sleep. Any thread. */
    void signal() {
        event.signal(Errno.ofThread());
    }

    /** Whether threads may poll the descriptor themselves. */
    boolean isExposed() {
        return exposed;
    }

    int expose() {
        exposed = true;
        return epoll.fd();
    }

    /** Sleeps until a descriptor is readable; returns how many are, or 0 or less if none became so in time. */
    int await(long nanos) {
        return epoll.await(errno, Math.max(0, nanos));
    }

    /** Whether one of the descriptors that ended a sleep says that a completion queue has something to poll. */
    boolean hasCome(int ready) {
        boolean came = false;
        for (int i = 0; i < ready; i++) {
            int fd = epoll.ready(i);
            if (fd == event.fd()) {
                event.drain(errno);
                came = true;
            } else {
                came |= !isIdle(fd);
            }
        }
        return came;
    }

    private boolean isIdle(int fd) {
        for (Watch watch : watches) {
            if (watch.fd() == fd) {
                return watch.initiator().unwatchIfIdle();
            }
        }
        return true;
    }

    @Override
    public void close() {
        epoll.close();
        event.close();
    }
}
