package io.farpage.agent.control.keeper;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.PollSet;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/** An agent's side of the connection to its keeper. One thread at a time. */
final class KeeperConnection implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final Path path;
    private final int fd;
    private final Errno errno;

    private KeeperConnection(Path path, int fd, Errno errno) {
        this.path = path;
        this.fd = fd;
        this.errno = errno;
    }

    private record Answer(KeeperMessage message, Optional<Integer> descriptor) {}

    /** @throws IOException if no keeper listens there */
    static KeeperConnection open(Path path) throws IOException {
        Errno errno = Errno.create();
        int fd = Sockets.openUnix(errno);
        int connected = UnixSockets.connect(errno, fd, path);
        if (connected < 0) {
            FileIo.close(errno, fd);
            throw new IOException("connect: " + ErrnoName.of(-connected));
        }
        Sockets.setReceiveTimeout(errno, fd, TIMEOUT);
        return new KeeperConnection(path, fd, errno);
    }

    /**
     * Becomes the holder.
     *
     * @return the descriptor that was kept, now the caller's, if any
     * @throws KeeperBusyException if another process is the holder
     * @throws IOException if the keeper does not answer as one
     */
    Optional<Integer> claim() throws IOException {
        return claim(KeptFormat.VERSION);
    }

    /** As {@link #claim()}, for a process that reads other formats. */
    Optional<Integer> claim(long format) throws IOException {
        return granted(ask(new KeeperMessage(KeeperMessage.Kind.CLAIM, format), List.of()), format);
    }

    /**
     * Begins to wait until the holder has ended.
     *
     * @return length of the file that is kept; 0 if there is none
     * @throws KeptFormatException if this version cannot read what is kept
     */
    long await() throws IOException {
        return await(KeptFormat.VERSION);
    }

    /** As {@link #await()}, for a process that reads other formats. */
    long await(long format) throws IOException {
        Answer answer = ask(new KeeperMessage(KeeperMessage.Kind.WAIT, format), List.of());
        if (answer.message().kind() == KeeperMessage.Kind.REFUSED) {
            throw answer.message().value() == 0
                    ? new IOException("as many standbys wait as may")
                    : new KeptFormatException(path, answer.message().value(), format);
        }
        if (answer.message().kind() != KeeperMessage.Kind.WAITING) {
            throw new IOException("it answered " + answer.message().kind() + " to a standby");
        }
        return answer.message().value();
    }

    /**
     * Waits until this process is the holder, after {@link #await()}.
     *
     * @return the descriptor that was kept, now the caller's
     */
    Optional<Integer> awaitGrant() throws IOException {
        PollSet poll = new PollSet(1);
        poll.add(fd, PollSet.POLLIN);
        while (poll.await(-1) <= 0) {}
        return granted(receive(), KeptFormat.VERSION);
    }

    /** Which process is the holder, and which is next. */
    KeeperState look() throws IOException {
        Answer answer = ask(KeeperMessage.Kind.LOOK, List.of());
        if (answer.message().kind() != KeeperMessage.Kind.SEEN) {
            throw new IOException("it answered " + answer.message().kind());
        }
        return KeeperState.of(answer.message().value());
    }

    private Optional<Integer> granted(Answer answer, long format) throws IOException {
        return switch (answer.message().kind()) {
            case EMPTY -> Optional.empty();
            case KEPT_BEFORE -> {
                if (answer.descriptor().isEmpty()) {
                    throw new IOException("it has sent no descriptor with its answer");
                }
                yield answer.descriptor();
            }
            case BUSY -> throw new KeeperBusyException(path, answer.message().value());
            case REFUSED -> throw new KeptFormatException(path, answer.message().value(), format);
            case CLAIM, KEEP, DROP, HOLD, RELEASE, NEXT, WAIT, LOOK, DONE, HELD, NONE, WAITING, SEEN ->
                throw new IOException("it answered " + answer.message().kind() + " to a claim");
        };
    }

    /** Passes a duplicate of a descriptor to the keeper. The caller keeps its own. */
    void keep(int descriptor) throws IOException {
        requireDone(ask(KeeperMessage.Kind.KEEP, List.of(descriptor)));
    }

    /** Makes the keeper release what it holds. */
    void drop() throws IOException {
        requireDone(ask(KeeperMessage.Kind.DROP, List.of()));
    }

    /**
     * Passes a duplicate of a descriptor to the keeper under a name. The caller keeps its own. False if the keeper
     * holds too many.
     */
    boolean hold(KeptName name, int descriptor) throws IOException {
        Answer answer = ask(new KeeperMessage(KeeperMessage.Kind.HOLD, name.value()), List.of(descriptor));
        if (answer.message().kind() == KeeperMessage.Kind.REFUSED) {
            return false;
        }
        requireDone(answer);
        return true;
    }

    /** Makes the keeper release a group. */
    void release(long group) throws IOException {
        requireDone(ask(new KeeperMessage(KeeperMessage.Kind.RELEASE, group), List.of()));
    }

    /**
     * All descriptors that are held under names; the caller's.
     *
     * @throws IOException if the keeper does not answer, or is of an earlier version, which holds none
     */
    NavigableMap<KeptName, Integer> held() throws IOException {
        NavigableMap<KeptName, Integer> all = new TreeMap<>();
        boolean complete = false;
        try {
            for (long from = 0; ; ) {
                Answer answer = ask(new KeeperMessage(KeeperMessage.Kind.NEXT, from), List.of());
                if (answer.message().kind() == KeeperMessage.Kind.NONE) {
                    complete = true;
                    return all;
                }
                if (answer.message().kind() != KeeperMessage.Kind.HELD
                        || answer.descriptor().isEmpty()) {
                    throw new IOException("it answered " + answer.message().kind() + " without a descriptor");
                }
                all.put(
                        KeptName.of(answer.message().value()),
                        answer.descriptor().get());
                from = answer.message().value() + 1;
            }
        } finally {
            if (!complete) {
                all.values().forEach(descriptor -> FileIo.close(errno, descriptor));
            }
        }
    }

    private static void requireDone(Answer answer) throws IOException {
        if (answer.message().kind() != KeeperMessage.Kind.DONE) {
            throw new IOException("it answered " + answer.message().kind());
        }
    }

    private Answer ask(KeeperMessage.Kind what, List<Integer> descriptors) throws IOException {
        return ask(KeeperMessage.of(what), descriptors);
    }

    private Answer ask(KeeperMessage what, List<Integer> descriptors) throws IOException {
        long sent = UnixSockets.send(errno, fd, what.encode(), descriptors);
        if (sent != KeeperMessage.BYTES) {
            throw new IOException("send: " + ErrnoName.of((int) -sent));
        }
        return receive();
    }

    private Answer receive() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(KeeperMessage.BYTES);
            UnixSockets.Received received = UnixSockets.receive(errno, fd, buffer, 1);
            Optional<Integer> descriptor = received.descriptors().stream().findFirst();
            Optional<KeeperMessage> message = KeeperMessage.decode(buffer, received.bytes());
            if (message.isEmpty()) {
                descriptor.ifPresent(one -> FileIo.close(errno, one));
                throw new IOException(
                        received.bytes() < 0
                                ? "receive: " + ErrnoName.of(-received.bytes())
                                : "it ended the connection, or is not a keeper");
            }
            return new Answer(message.get(), descriptor);
        }
    }

    /** Whether the keeper has ended the connection. */
    boolean isBroken() {
        PollSet poll = new PollSet(1);
        poll.add(fd, PollSet.POLLIN);
        return poll.await(0) != 0;
    }

    @Override
    public void close() {
        FileIo.close(errno, fd);
    }
}
