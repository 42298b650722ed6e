package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** {@code struct ibv_comp_channel}. Awaited by one thread at a time. */
final class IbvCompletionChannel implements CompletionChannel {
    private final NativeDevice device;
    private final long channel;
    private final int fd;
    private final String name;
    private final Children users;
    private final List<IbvCompletionQueue> queues = new CopyOnWriteArrayList<>();
    private final PollSet poll = new PollSet(1);
    private final Errno errno = Errno.create();
    /** The index of the descriptor in the set that it was last added to. */
    private int index;

    private final MemorySegment event = Arena.ofAuto().allocate(16, 8);

    IbvCompletionChannel(NativeDevice device) {
        this.device = device;
        this.channel = Failure.check(
                device.library().createCompChannel(errno, device.context()),
                errno,
                "create_comp_channel",
                device.toString(),
                "the device refused");
        // SAFETY: the library returned a struct ibv_comp_channel, which lives until it is destroyed.
        this.fd = Native.at(channel, Structs.CompChannel.SIZE).get(JAVA_INT, Structs.CompChannel.FD);
        this.name = device + " completion channel fd " + fd;
        this.users = new Children(device, name);
        Failure.check(-FileIo.setNonBlocking(errno, fd), "fcntl", name, "the descriptor is not usable");
    }

    NativeDevice device() {
        return device;
    }

    long pointer() {
        return channel;
    }

    /** Makes a completion queue of this channel. */
    IbvCompletionQueue addQueue(int cqe) {
        return users.add(() -> {
            IbvCompletionQueue queue = new IbvCompletionQueue(device, cqe, this);
            queues.add(queue);
            return queue;
        });
    }

    void removed(IbvCompletionQueue queue) {
        queues.remove(queue);
        users.remove(queue);
    }

    @Override
    public void addTo(PollSet set) {
        users.requireOpen();
        index = set.add(fd, PollSet.POLLIN);
    }

    @Override
    public boolean await(long timeoutNanos) {
        poll.clear();
        addTo(poll);
        int ready = poll.await(Math.max(0, timeoutNanos));
        if (ready == 0 || ready == -Errno.EINTR) {
            return false;
        }
        Failure.check(Math.max(0, -ready), "poll", name, "the descriptor is not usable");
        return polled(poll);
    }

    @Override
    public boolean polled(PollSet set) {
        users.requireOpen();
        if (set.ready(index) == 0) {
            return false;
        }
        int failure = device.library().getCqEvent(errno, channel, event);
        if (failure == Errno.EAGAIN) {
            // The event went with its completion queue.
            return false;
        }
        Failure.check(failure, "get_cq_event", name, "the descriptor is not usable");
        long cq = event.get(JAVA_LONG, 0);
        for (int i = 0; i < queues.size(); i++) {
            IbvCompletionQueue queue = queues.get(i);
            if (queue.pointer() == cq) {
                queue.eventTaken();
                break;
            }
        }
        return true;
    }

    @Override
    public void close() {
        users.close(() -> {
            Failure.check(
                    device.library().release(Release.DESTROY_COMP_CHANNEL, channel),
                    "destroy_comp_channel",
                    name,
                    "the device refused");
            device.children().remove(this);
        });
    }

    @Override
    public String toString() {
        return name;
    }
}
