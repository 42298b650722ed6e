package io.farpage.agent.control.keeper;

import io.farpage.agent.control.socket.SocketPath;
import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.linux.FileIo;
import io.farpage.linux.NativeThread;
import io.farpage.linux.PollSet;
import io.farpage.linux.ProcessFd;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.Sockets;
import io.farpage.linux.SystemCall;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.uffd.MemoryFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds the descriptors of one pool, and of its guests, for the agents of one node, one after the other. An agent
 * connects and claims it. Another claim is refused until the process of the agent has ended, which a descriptor of that
 * process tells (pidfd_open(2)): a connection that ended is not enough, since the process may go on writing to the
 * pool. One thread; {@link #close} ends it from any thread.
 */
public final class Keeper implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Keeper.class);
    private static final int MODE = 0600;
    private static final int MAX_CONNECTIONS = 8;
    private static final int BACKLOG = 8;
    /** More than a message may have, so that a superfluous one is seen, and closed. */
    private static final int MAX_DESCRIPTORS = 2;

    private final SocketPath path;
    private final int fd;
    private final Errno errno = Errno.create();
    private final EventFd ending = new EventFd();
    private final PollSet ready = new PollSet(MAX_CONNECTIONS + 4);
    private final MemorySegment buffer = Arena.ofAuto().allocate(2L * KeeperMessage.BYTES);
    private final List<Connection> connections = new ArrayList<>();
    private Optional<Holder> holder = Optional.empty();
    private Optional<Integer> kept = Optional.empty();
    /** The format of what is kept, as the last holder wrote it. */
    private long format = 1;

    private final HeldDescriptors held = new HeldDescriptors(errno);
    private final Standbys standbys = new Standbys();

    record Connection(int fd, UnixSockets.Credentials peer) {}

    /** The agent that has the descriptor: its process, and its connection as long as that lives. */
    private record Holder(int pid, int process, Optional<Connection> connection) {
        boolean isConnectedBy(Connection other) {
            return connection.filter(other::equals).isPresent();
        }
    }

    private Keeper(SocketPath path, int fd) {
        this.path = path;
        this.fd = fd;
    }

    /**
     * Listens. A socket at the path that belongs to this user and on which no process listens is replaced.
     *
     * @throws IOException saying what is in the way
     */
    public static Keeper listen(Path path) throws IOException {
        SocketPath.removeStale(path);
        Errno errno = Errno.create();
        int fd = Sockets.openUnix(errno);
        try {
            UnixSockets.bind(errno, fd, path, MODE);
            Sockets.listen(errno, fd, BACKLOG);
            Sockets.setBlocking(errno, fd, false);
            return new Keeper(SocketPath.bound(path), fd);
        } catch (RuntimeException | IOException e) {
            FileIo.close(errno, fd);
            throw new IOException("cannot listen on " + path + ": " + e.getMessage(), e);
        }
    }

    /** Serves until {@link #close}. */
    public void run() {
        log.info("keeps the memory of an agent at {}", path);
        while (step()) {}
        connections.forEach(connection -> FileIo.close(errno, connection.fd()));
        holder.ifPresent(one -> FileIo.close(errno, one.process()));
        kept.ifPresent(memory -> {
            log.warn("the memory of an agent is no longer kept");
            FileIo.close(errno, memory);
        });
        held.clear();
        FileIo.close(errno, fd);
        path.remove();
        ending.close();
    }

    private boolean step() {
        ready.clear();
        ready.add(ending.fd(), PollSet.POLLIN);
        ready.add(fd, PollSet.POLLIN);
        List<Connection> polled = List.copyOf(connections);
        polled.forEach(connection -> ready.add(connection.fd(), PollSet.POLLIN));
        if (kept.isPresent() && standbys.next().isPresent()) {
            holder.ifPresent(one -> ready.add(one.process(), PollSet.POLLIN));
        }
        ready.await(-1);
        if (ready.ready(0) != 0) {
            return false;
        }
        for (int i = 0; i < polled.size(); i++) {
            if (ready.ready(i + 2) != 0) {
                receive(polled.get(i));
            }
        }
        if (ready.ready(1) != 0) {
            accept();
        }
        succeed();
        return true;
    }

    private void accept() {
        int accepted = Sockets.accept(errno, fd, Sockets.SOCK_NONBLOCK);
        if (accepted < 0) {
            return;
        }
        UnixSockets.Credentials peer = UnixSockets.peer(errno, accepted);
        int own = NativeThread.effectiveUser();
        if (peer.user() != own && peer.user() != 0) {
            log.warn("process {} of user {} is refused: this keeper is for user {}", peer.pid(), peer.user(), own);
            FileIo.close(errno, accepted);
            return;
        }
        if (connections.size() == MAX_CONNECTIONS) {
            connections.stream()
                    .filter(one -> holder.filter(h -> h.isConnectedBy(one)).isEmpty() && !standbys.has(one))
                    .findFirst()
                    .ifPresent(this::end);
        }
        connections.add(new Connection(accepted, peer));
    }

    private void receive(Connection from) {
        UnixSockets.Received received = UnixSockets.receive(errno, from.fd(), buffer, MAX_DESCRIPTORS);
        if (received.bytes() == -Errno.EAGAIN || received.bytes() == -Errno.EINTR) {
            return;
        }
        List<Integer> descriptors = received.descriptors();
        Optional<KeeperMessage> message = KeeperMessage.decode(buffer, received.bytes());
        boolean mayHaveOne = message.filter(KeeperMessage::bringsDescriptor).isPresent();
        if (message.isEmpty() || descriptors.size() != (mayHaveOne ? 1 : 0)) {
            descriptors.forEach(one -> FileIo.close(errno, one));
            if (received.bytes() > 0) {
                log.warn(
                        "process {} sent an invalid message; its connection is closed",
                        from.peer().pid());
            }
            end(from);
            return;
        }
        answer(from, message.get(), descriptors);
    }

    private void answer(Connection from, KeeperMessage asked, List<Integer> descriptors) {
        boolean holds = holder.filter(one -> one.isConnectedBy(from)).isPresent();
        switch (asked.kind()) {
            case CLAIM -> claim(from, KeptFormat.named(asked.value()));
            case WAIT -> await(from, KeptFormat.named(asked.value()));
            case LOOK -> send(from, new KeeperMessage(KeeperMessage.Kind.SEEN, state().value()), List.of());
            case KEEP -> {
                int memory = descriptors.getFirst();
                if (holds && SharedMemory.hasFixedLength(memory)) {
                    kept.ifPresent(before -> FileIo.close(errno, before));
                    kept = Optional.of(memory);
                    log.info("keeps the memory of process {}", from.peer().pid());
                    send(from, KeeperMessage.of(KeeperMessage.Kind.DONE), List.of());
                } else {
                    FileIo.close(errno, memory);
                    send(from, KeeperMessage.of(KeeperMessage.Kind.REFUSED), List.of());
                }
            }
            case DROP -> {
                if (holds) {
                    kept.ifPresent(before -> FileIo.close(errno, before));
                    kept = Optional.empty();
                    held.clear();
                    log.info("process {} has given its memory up", from.peer().pid());
                }
                sendOutcome(from, holds);
            }
            case HOLD -> {
                int descriptor = descriptors.getFirst();
                boolean taken =
                        holds && KeptName.isValue(asked.value()) && held.hold(KeptName.of(asked.value()), descriptor);
                if (!taken) {
                    FileIo.close(errno, descriptor);
                }
                sendOutcome(from, taken);
            }
            case RELEASE -> {
                boolean valid = holds && asked.value() >= 0 && asked.value() <= KeptName.LAST_GROUP;
                if (valid) {
                    held.release(asked.value());
                }
                sendOutcome(from, valid);
            }
            case NEXT -> {
                if (!holds) {
                    sendOutcome(from, false);
                } else if (KeptName.isValue(asked.value())) {
                    sendNext(from, KeptName.of(asked.value()));
                } else {
                    send(from, KeeperMessage.of(KeeperMessage.Kind.NONE), List.of());
                }
            }
            case EMPTY, KEPT_BEFORE, BUSY, DONE, REFUSED, HELD, NONE, WAITING, SEEN -> end(from);
        }
    }

    private void sendNext(Connection to, KeptName from) {
        held.from(from)
                .ifPresentOrElse(
                        next -> send(
                                to,
                                new KeeperMessage(
                                        KeeperMessage.Kind.HELD, next.getKey().value()),
                                List.of(next.getValue())),
                        () -> send(to, KeeperMessage.of(KeeperMessage.Kind.NONE), List.of()));
    }

    private void sendOutcome(Connection to, boolean done) {
        send(to, KeeperMessage.of(done ? KeeperMessage.Kind.DONE : KeeperMessage.Kind.REFUSED), List.of());
    }

    private KeeperState state() {
        int agent = holder.filter(one -> !ProcessFd.hasEnded(one.process()))
                .map(Holder::pid)
                .orElse(0);
        int next = standbys.next().map(one -> one.connection().peer().pid()).orElse(0);
        return new KeeperState(agent, next);
    }

    private void await(Connection from, long reads) {
        if (isBeyond(reads)) {
            refuse(from, reads);
        } else if (standbys.has(from) || !standbys.add(new Standbys.Standby(from, reads))) {
            sendOutcome(from, false);
        } else {
            log.info("process {} is a standby", from.peer().pid());
            long length = kept.map(MemoryFile::lengthOf).orElse(0L);
            send(from, new KeeperMessage(KeeperMessage.Kind.WAITING, length), List.of());
        }
    }

    /**
     * Once the holder has ended, the next standby is the holder. A standby never gets nothing: without a pool it would
     * begin an empty one.
     */
    private void succeed() {
        while (kept.isPresent()
                && standbys.next().isPresent()
                && holder.filter(one -> !ProcessFd.hasEnded(one.process())).isEmpty()) {
            Standbys.Standby next = standbys.next().get();
            standbys.remove(next.connection());
            claim(next.connection(), next.format());
        }
    }

    /** Whether an agent would not understand what is kept. */
    private boolean isBeyond(long reads) {
        return reads < format && (kept.isPresent() || !held.isEmpty());
    }

    private void refuse(Connection from, long reads) {
        log.error(
                "process {} reads formats up to {}, and what is kept has format {}: it is refused",
                from.peer().pid(),
                reads,
                format);
        send(from, new KeeperMessage(KeeperMessage.Kind.REFUSED, format), List.of());
    }

    private void claim(Connection from, long reads) {
        Optional<Holder> other = holder.filter(one -> !hasEnded(one, from.peer().pid()));
        if (other.isPresent()) {
            send(from, new KeeperMessage(KeeperMessage.Kind.BUSY, other.get().pid()), List.of());
            return;
        }
        if (isBeyond(reads)) {
            refuse(from, reads);
            return;
        }
        SystemCall process = ProcessFd.open(from.peer().pid());
        // A process that lives on has the id that it connected with: a connection that is open after the id was looked
        // up is that process's.
        if (!process.succeeded() || isHungUp(from.fd())) {
            log.warn(
                    "process {} cannot be watched: {}",
                    from.peer().pid(),
                    process.succeeded() ? "it has ended" : "pidfd_open: " + process.error());
            if (process.succeeded()) {
                FileIo.close(errno, (int) process.value());
            }
            end(from);
            return;
        }
        holder.ifPresent(before -> FileIo.close(errno, before.process()));
        holder = Optional.of(new Holder(from.peer().pid(), (int) process.value(), Optional.of(from)));
        if (reads != KeptFormat.ANY) {
            format = reads;
        }
        log.info("process {} is the agent now", from.peer().pid());
        KeeperMessage.Kind answer = kept.isPresent() ? KeeperMessage.Kind.KEPT_BEFORE : KeeperMessage.Kind.EMPTY;
        send(from, KeeperMessage.of(answer), kept.map(List::of).orElse(List.of()));
    }

    /**
     * Whether the holder no longer uses the memory: its process is dead, or it is the process that asks and has closed
     * its connection before.
     */
    private static boolean hasEnded(Holder one, int asking) {
        return ProcessFd.hasEnded(one.process())
                || (one.pid() == asking && one.connection().isEmpty());
    }

    private static boolean isHungUp(int fd) {
        PollSet poll = new PollSet(1);
        poll.add(fd, 0);
        poll.await(0);
        return poll.ready(0) != 0;
    }

    private void send(Connection to, KeeperMessage message, List<Integer> descriptors) {
        if (UnixSockets.send(errno, to.fd(), message.encode(), descriptors) != KeeperMessage.BYTES) {
            end(to);
        }
    }

    private void end(Connection connection) {
        if (connections.remove(connection)) {
            standbys.remove(connection);
            FileIo.close(errno, connection.fd());
            holder = holder.map(one ->
                    one.isConnectedBy(connection) ? new Holder(one.pid(), one.process(), Optional.empty()) : one);
        }
    }

    /** Where agents reach it. */
    public Path path() {
        return path.path();
    }

    /** Ends {@link #run}. Any thread. */
    @Override
    public void close() {
        ending.signal(Errno.create());
    }
}
