package io.farpage.agent.control.guest;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.UnixSockets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * One connection to the handoff socket. It collects the message of a VMM and the descriptors that come with it until
 * the message is complete, the connection fails, or its deadline has passed. The descriptor does not block. Used by one
 * thread.
 *
 * <p>The last byte of the message stays in the socket until the memory is {@link #taken}. If this process is killed
 * before, the kernel resets the connection instead of ending it, so the VMM can tell that its memory was not taken.
 */
final class HandoffConnection implements AutoCloseable {
    private static final int MAX_MESSAGE = 1 << 20;
    /** More than a handoff may have, so that the refusal can name how many came. */
    private static final int MAX_DESCRIPTORS = 2 * Handoff.MAX_USERFAULTFDS;
    /** Reads in a row, so that a sender that never stops does not delay the other connections. */
    private static final int MAX_READS = 16;

    private final int fd;
    private final Errno errno;
    private final HandoffPeer peer;
    private final Optional<String> refusal;
    private final long deadline;
    private final List<Integer> descriptors = new ArrayList<>();
    private final JsonEnd end = new JsonEnd();
    private byte[] bytes = new byte[4096];
    private int length;
    private boolean complete;
    private Optional<String> failure = Optional.empty();

    /**
     * One message of a VMM.
     *
     * @param json its text
     * @param descriptors that came with it; the receiver's to close
     * @param pid of the process that sent it
     */
    record Message(String json, List<Integer> descriptors, int pid) {}

    /**
     * Adopts a connection.
     *
     * @param peer the process that connected
     * @param refusal why that process may not hand memory over, if it may not; given once its message has been read, so
     *     that the process reads it
     * @param deadline of the whole message, in the units of {@link System#nanoTime()}
     */
    HandoffConnection(int fd, Errno errno, UnixSockets.Credentials peer, Optional<String> refusal, long deadline) {
        this.fd = fd;
        this.errno = errno;
        this.peer = HandoffPeer.of(peer);
        this.refusal = refusal;
        this.deadline = deadline;
    }

    HandoffPeer peer() {
        return peer;
    }

    int fd() {
        return fd;
    }

    long deadline() {
        return deadline;
    }

    /** Whether the message is complete, or has failed. */
    boolean isFinished() {
        return complete || failure.isPresent();
    }

    /** Reads what has arrived. */
    void read(MemorySegment scratch) {
        for (int i = 0; i < MAX_READS && !isFinished(); i++) {
            int ahead = UnixSockets.peek(errno, fd, scratch);
            int count = ahead > 1 ? ahead - 1 : 1;
            byte last = ahead > 1 ? scratch.get(ValueLayout.JAVA_BYTE, count) : 0;
            UnixSockets.Received part = UnixSockets.receive(errno, fd, scratch.asSlice(0, count), MAX_DESCRIPTORS);
            if (part.bytes() == -Errno.EAGAIN || part.bytes() == -Errno.EINTR) {
                return;
            }
            keep(part.descriptors());
            if (part.bytes() < 0) {
                fail("the connection failed: " + ErrnoName.of(-part.bytes()));
            } else if (part.bytes() > 0) {
                append(scratch, part.bytes());
                if (part.bytes() == count && ahead > 1 && !isFinished() && end.endsWith(last)) {
                    scratch.set(ValueLayout.JAVA_BYTE, 0, last);
                    append(scratch, 1);
                }
            } else if (length > 0) {
                // The sender has closed its side, so the message is complete.
                complete = true;
            } else {
                fail("the VMM closed the connection without a message");
            }
        }
    }

    private void append(MemorySegment from, int count) {
        if (length + count > MAX_MESSAGE) {
            fail("the message is longer than %d bytes".formatted(MAX_MESSAGE));
            return;
        }
        if (length + count > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + count));
        }
        MemorySegment.copy(from, ValueLayout.JAVA_BYTE, 0, bytes, length, count);
        for (int i = length; i < length + count; i++) {
            complete |= end.isAt(bytes[i]);
        }
        length += count;
    }

    private void keep(List<Integer> more) {
        for (int descriptor : more) {
            if (descriptors.size() < MAX_DESCRIPTORS) {
                descriptors.add(descriptor);
            } else {
                FileIo.close(errno, descriptor);
            }
        }
    }

    /** Fails the message, unless it is complete. */
    void fail(String reason) {
        if (!isFinished()) {
            failure = Optional.of(reason);
        }
    }

    /**
     * The message. May be called once.
     *
     * @throws HandoffException if there is none, with the reason
     */
    Message message() throws HandoffException {
        Optional<String> obstacle = refusal.or(() -> failure);
        if (obstacle.isPresent()) {
            throw new HandoffException(obstacle.get());
        }
        List<Integer> received = List.copyOf(descriptors);
        descriptors.clear();
        return new Message(new String(bytes, 0, length, StandardCharsets.UTF_8), received, peer.pid());
    }

    /** The memory is served from now on, by a successor if this process is killed. {@link #close} tells the VMM. */
    void taken() {
        readRest();
    }

    /** Reads what is left, since closing would reset the connection otherwise. */
    private void readRest() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment scratch = arena.allocate(4096);
            for (int i = 0; i < MAX_READS; i++) {
                UnixSockets.Received part = UnixSockets.receive(errno, fd, scratch, MAX_DESCRIPTORS);
                part.descriptors().forEach(stray -> FileIo.close(errno, stray));
                if (part.bytes() <= 0) {
                    return;
                }
            }
        }
    }

    /**
     * Tells the VMM why its handoff is refused. If the handoff is accepted, the agent closes the connection without an
     * answer.
     */
    void refuse(String reason) {
        readRest();
        UnixSockets.send(errno, fd, (reason + "\n").getBytes(StandardCharsets.UTF_8), List.of());
    }

    /** Closes the connection and the descriptors that were not passed on in a message. */
    @Override
    public void close() {
        descriptors.forEach(stray -> FileIo.close(errno, stray));
        descriptors.clear();
        FileIo.close(errno, fd);
    }
}
