package io.farpage.verbs.soft;

import io.farpage.linux.Epoll;
import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.verbs.CompletionChannel;
import java.util.Arrays;

/**
 * An epoll descriptor over two kinds of descriptors: the initiator sockets of the queue pairs that complete to this
 * channel, where replies arrive, and an event descriptor that responders signal.
 *
 * <p>The expiry of an initiator's timer makes no descriptor readable. So a thread that polls the channel among other
 * descriptors also has to poll the completion queue now and then while work is outstanding; {@link #await} does so by
 * itself.
 */
final class SoftCompletionChannel implements CompletionChannel {
    private static final int EVENTS = 16;

    private record Watch(Initiator initiator, int fd) {}

    private final SoftDevice device;
    private final int number;
    private final OpenChildren users;
    private final Epoll epoll = new Epoll(EVENTS);
    private final EventFd event = new EventFd();
    private final Errno errno = Errno.create();
    private volatile SoftCompletionQueue[] queues = {};
    private volatile Watch[] watches = {};
    private volatile boolean exposed;

    SoftCompletionChannel(SoftDevice device, int number) {
        this.device = device;
        this.number = number;
        this.users = new OpenChildren(toString());
        epoll.add(event.fd(), Epoll.EPOLLIN);
    }

    SoftDevice device() {
        return device;
    }

    synchronized void add(SoftCompletionQueue queue) {
        users.add(queue);
        queues = Arrays.copyOf(queues, queues.length + 1);
        queues[queues.length - 1] = queue;
    }

    synchronized void remove(SoftCompletionQueue queue) {
        users.remove(queue);
        queues = Arrays.stream(queues).filter(q -> q != queue).toArray(SoftCompletionQueue[]::new);
    }

    synchronized void watch(Initiator initiator, int fd, int interest) {
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

    /** Whether threads may poll the descriptor instead of calling {@link #await}. */
    boolean isExposed() {
        return exposed;
    }

    @Override
    public int fileDescriptor() {
        exposed = true;
        return epoll.fd();
    }

    @Override
    public boolean await(long timeoutNanos) {
        long now = System.nanoTime();
        if (timeoutNanos > InitiatorConnection.LONGEST_SLEEP.toNanos()) {
            Initiator only = SoftCompletionQueue.onlyActive(queues);
            // Two system calls fewer, and one wake-up instead of two stacked ones.
            if (only != null && only.sleepInReceive(now)) {
                return true;
            }
        }
        long end = now + Math.min(timeoutNanos, Long.MAX_VALUE / 4);
        long due = end;
        for (SoftCompletionQueue queue : queues) {
            due = queue.due(now, due);
            queue.arm();
        }
        int ready = epoll.await(errno, Math.max(0, due - now));
        if (ready <= 0) {
            // An initiator's timer has expired: the completion queue has to be polled, though no descriptor is
            // readable.
            return due - end < 0;
        }
        for (SoftCompletionQueue queue : queues) {
            queue.woken();
        }
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

    /** Whether nothing is expected from {@code fd}, which is then watched no longer. */
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
        if (users.close()) {
            epoll.close();
            event.close();
            device.children().remove(this);
        }
    }

    @Override
    public String toString() {
        return "completion channel " + number + " of " + device.name();
    }
}
