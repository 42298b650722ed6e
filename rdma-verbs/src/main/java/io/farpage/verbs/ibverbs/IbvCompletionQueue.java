package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import io.farpage.verbs.ibverbs.WorkRequests.Wc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** {@code struct ibv_cq}. */
final class IbvCompletionQueue implements CompletionQueue {
    /** Completions that one call of the library takes. */
    private static final int BATCH = 32;

    /** Acknowledging an event locks a mutex, so it is done for many at once. */
    private static final int ACK_BATCH = 64;

    private final NativeDevice device;
    private final @Nullable IbvCompletionChannel channel;
    private final int capacity;
    private final long cq;
    private final String name;
    private final Children users;
    private final MemorySegment wcs = Arena.ofAuto().allocate((long) BATCH * Wc.SIZE, 64);
    private final AtomicInteger unacknowledged = new AtomicInteger();
    private final Reservations reservations;
    private volatile QpTable queuePairs = QpTable.EMPTY;
    /** Whether the next completion brings an event, or one has come that is not taken from the channel. */
    private volatile boolean armed;

    private volatile boolean closed;

    IbvCompletionQueue(NativeDevice device, int cqe, @Nullable IbvCompletionChannel channel) {
        this.device = device;
        this.channel = channel;
        this.capacity = cqe;
        Errno errno = Errno.create();
        this.cq = Failure.check(
                device.library().createCq(errno, device.context(), cqe, channel == null ? 0 : channel.pointer()),
                errno,
                "create_cq",
                device.toString(),
                "no memory for " + cqe + " entries; close completion queues or make them smaller");
        this.name = device + " cq 0x" + Long.toHexString(cq);
        this.users = new Children(device, name);
        this.reservations = new Reservations(name, cqe);
    }

    long pointer() {
        return cq;
    }

    NativeDevice device() {
        return device;
    }

    Children users() {
        return users;
    }

    /** What its queue pairs may have outstanding. */
    Reservations reservations() {
        return reservations;
    }

    synchronized void add(Outstanding qp) {
        queuePairs = queuePairs.with(qp);
    }

    synchronized void remove(Outstanding qp) {
        queuePairs = queuePairs.without(qp);
    }

    @Override
    public int capacity() {
        return capacity;
    }

    @Override
    public int poll(WorkCompletion[] into) {
        if (closed) {
            throw new IllegalStateException(name + " is closed");
        }
        int filled = 0;
        while (filled < into.length) {
            int wanted = Math.min(BATCH, into.length - filled);
            int got = device.ops().pollCq(cq, wanted, wcs.address());
            if (got < 0) {
                throw new VerbsException("poll_cq on " + name + ": " + got
                        + "; the completion queue or its device has failed; close and open the device again");
            }
            for (int i = 0; i < got; i++) {
                if (decode((long) i * Wc.SIZE, into[filled])) {
                    filled++;
                }
            }
            if (got < wanted) {
                break;
            }
        }
        return filled;
    }

    /** Decodes a completion; false if its queue pair was reset since, or is closed. */
    private boolean decode(long at, WorkCompletion into) {
        int qpn = wcs.get(JAVA_INT, at + Wc.QP_NUM);
        long id = wcs.get(JAVA_LONG, at + Wc.WR_ID);
        // Two fields at once: each load through a segment costs a bounds check per completion.
        long statusAndOpcode = wcs.get(JAVA_LONG, at + Wc.STATUS);
        WcStatus status = WcStatus.ofCode((int) statusAndOpcode);
        boolean success = status == WcStatus.SUCCESS;
        Outstanding qp = queuePairs.find(qpn);
        int kind = WrId.kind(id);
        long wrId;
        if (kind == WrId.SHARED_RECV) {
            // Frees its slot even if the queue pair is gone.
            wrId = device.sharedQueues().release(id);
            if (qp == null) {
                return false;
            }
        } else {
            if (qp == null) {
                return false;
            }
            WrRing ring = kind == WrId.SEND ? qp.sends() : qp.receives();
            long sequence = WrId.sequence(id);
            if (!ring.isOutstanding(sequence)) {
                return false;
            }
            wrId = ring.complete(sequence);
        }
        boolean receive = kind != WrId.SEND;
        WcOpcode opcode;
        if (success) {
            opcode = WcOpcode.ofCode((int) (statusAndOpcode >>> Integer.SIZE));
        } else {
            // A failed completion has no opcode, but the id tells the direction.
            opcode = receive ? WcOpcode.RECV : WcOpcode.SEND;
            qp.onFailure();
        }
        into.set(
                wrId,
                status,
                opcode,
                success ? 0 : wcs.get(JAVA_INT, at + Wc.VENDOR_ERR),
                success ? wcs.get(JAVA_INT, at + Wc.BYTE_LEN) : 0,
                qpn);
        return true;
    }

    @Override
    public void requestNotification() {
        if (channel == null) {
            throw new IllegalStateException(name + " was created without a completion channel");
        }
        if (closed) {
            throw new IllegalStateException(name + " is closed");
        }
        if (armed) {
            // Arming again is a write to the device, or a system call, for an event that comes in any case.
            return;
        }
        // Before the call: a thread that takes the event at once finds the queue armed.
        armed = true;
        int errno = device.ops().reqNotifyCq(cq);
        if (errno != 0) {
            armed = false;
            throw Failure.of("req_notify_cq", name, Math.abs(errno), "the device refused");
        }
    }

    /** Counts an event taken from the channel, and acknowledges those taken so far when they are many. */
    void eventTaken() {
        armed = false;
        if (unacknowledged.incrementAndGet() >= ACK_BATCH || closed) {
            acknowledge();
        }
    }

    private void acknowledge() {
        int count = unacknowledged.getAndSet(0);
        if (count > 0) {
            device.library().ackCqEvents(cq, count);
        }
    }

    @Override
    public void close() {
        users.close(() -> {
            closed = true;
            // Destroying waits until every event taken is acknowledged; one taken from now on is at once, see
            // eventTaken.
            acknowledge();
            int errno = device.library().release(Release.DESTROY_CQ, cq);
            if (errno != 0) {
                closed = false;
                throw Failure.of("destroy_cq", name, errno, "the device refused");
            }
            if (channel != null) {
                channel.removed(this);
            }
            device.children().remove(this);
        });
    }

    @Override
    public String toString() {
        return name;
    }
}
