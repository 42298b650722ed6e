package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.verbs.AsyncEvent;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Takes a device's asynchronous events, one by one, and acknowledges each before handing it on: destroying an object
 * waits for that.
 *
 * <p>Waiting is cut into short slices under a fair lock, so that closing the device gets the lock soon and finds no
 * reader. Thread-safe.
 */
final class AsyncEvents {
    private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final Duration LONGEST = Duration.ofDays(365);

    private final LibIbverbs library;
    private final long context;
    private final int fd;
    private final ReentrantLock lock = new ReentrantLock(true);
    private final PollSet poll = new PollSet(1);
    private final Errno errno = Errno.create();
    private final MemorySegment event = Arena.ofAuto().allocate(Structs.AsyncEvent.SIZE, 8);
    private boolean stopped;
    /** The device gives no further events, for example because it was removed. */
    private boolean broken;

    AsyncEvents(LibIbverbs library, long context, int fd) {
        this.library = library;
        this.context = context;
        this.fd = fd;
        Failure.check(-FileIo.setNonBlocking(errno, fd), "fcntl", "async_fd " + fd, "the descriptor is not usable");
    }

    Optional<AsyncEvent> await(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + (timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout).toNanos();
        while (true) {
            long left = deadline - System.nanoTime();
            lock.lockInterruptibly();
            try {
                if (stopped) {
                    return Optional.empty();
                }
                Optional<AsyncEvent> taken = take(Math.clamp(left, 0, SLICE_NANOS));
                if (taken.isPresent() || left <= 0) {
                    return taken;
                }
            } finally {
                lock.unlock();
            }
        }
    }

    private Optional<AsyncEvent> take(long waitNanos) {
        if (broken) {
            // Polls no descriptor, which sleeps for the time: as a device without events.
            poll.clear();
            int ignored = poll.await(waitNanos);
            return Optional.empty();
        }
        poll.clear();
        poll.add(fd, PollSet.POLLIN);
        if (poll.await(waitNanos) <= 0) {
            return Optional.empty();
        }
        // The event may be gone: destroying the object that raised it removes it. The descriptor does not block then.
        int failure = library.getAsyncEvent(errno, context, event);
        if (failure != 0) {
            broken = failure != Errno.EAGAIN;
            return Optional.empty();
        }
        AsyncEvent.Type type = AsyncEvent.Type.ofCode(event.get(JAVA_INT, Structs.AsyncEvent.EVENT_TYPE));
        int element = 0;
        if (type.isQueuePairEvent()) {
            // SAFETY: the element of such an event is a struct ibv_qp, which is not freed before the event is
            // acknowledged.
            element = Native.at(event.get(JAVA_LONG, Structs.AsyncEvent.ELEMENT), Structs.Qp.SIZE)
                    .get(JAVA_INT, Structs.Qp.QP_NUM);
        } else if (type.isPortEvent()) {
            element = event.get(JAVA_INT, Structs.AsyncEvent.ELEMENT);
        }
        library.ackAsyncEvent(event);
        return Optional.of(new AsyncEvent(type, element));
    }

    /** Ends all waits; when this returns no thread waits. */
    void stop() {
        lock.lock();
        try {
            stopped = true;
        } finally {
            lock.unlock();
        }
    }
}
