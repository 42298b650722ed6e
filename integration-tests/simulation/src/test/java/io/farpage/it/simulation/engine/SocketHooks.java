package io.farpage.it.simulation.engine;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.agent.control.socket.SocketPath;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.NativeThread;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.SystemCall;
import io.farpage.linux.UnixSockets;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Unix sockets between the processes of a host, and the descriptors that pass through them, in place of unix(7). A
 * process that is killed closes its connections; what it sent before arrives.
 */
public final class SocketHooks {
    private static final long LEAST_NANOS = 5_000;
    private static final long MOST_NANOS = 100_000;
    /** How much later than its connections the end of a process shows. */
    private static final long MOST_ENDING_NANOS = 1_000_000;

    private static final int FIRST_PID = 100;

    private static final Map<Path, Socket> LISTENING = new HashMap<>();
    private static final Map<Integer, Node> PROCESSES = new HashMap<>();
    /** Descriptors of the kernel that are on their way, or that the accepting side has. */
    private static final Set<Integer> PASSED = new HashSet<>();

    private SocketHooks() {}

    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Packet(byte[] bytes, List<Integer> descriptors) {}

    /** One end of a connection, or what connections are accepted from. */
    private static final class Socket {
        private final Node node;
        private final int fd;
        private final Deque<Packet> inbox = new ArrayDeque<>();
        private final Deque<Integer> accepting = new ArrayDeque<>();
        private Optional<Socket> peer = Optional.empty();
        private boolean isAccepted;
        private boolean hungUp;
        private long timeoutNanos = -1;
        private boolean closed;

        Socket(Node node) {
            this.node = node;
            fd = Descriptors.open(this, this::isReadable, () -> hungUp);
            node.onDeath(this::close);
        }

        private boolean isReadable() {
            return !inbox.isEmpty() || !accepting.isEmpty() || hungUp;
        }

        void close() {
            if (!closed) {
                closed = true;
                LISTENING.values().remove(this);
                inbox.forEach(packet -> packet.descriptors().forEach(SocketHooks::closeReal));
                Descriptors.close(fd);
                peer.ifPresent(other -> {
                    other.hungUp = true;
                    Descriptors.changed(other.fd);
                });
            }
        }
    }

    /** A process, as a descriptor of it shows. */
    private static final class Watched {
        private boolean ended;
        private final int fd = Descriptors.open(this, () -> ended);
    }

    private static Engine engine() {
        return Engine.get();
    }

    private static Socket socket(int fd) {
        return Descriptors.object(fd, Socket.class);
    }

    /** The id of a process. */
    public static int pid(Node node) {
        int pid = FIRST_PID + node.number();
        PROCESSES.put(pid, node);
        return pid;
    }

    /** pidfd_open(2): a process that has ended may be a zombie, or gone. */
    public static SystemCall openProcess(int pid) {
        Node node = PROCESSES.get(pid);
        if (node.isDead() && engine().oneIn(2)) {
            return new SystemCall(-1, Errno.ESRCH);
        }
        Watched process = new Watched();
        process.ended = node.isDead();
        node.onDeath(() -> engine().after(engine().between(0, MOST_ENDING_NANOS), null, () -> {
            process.ended = true;
            Descriptors.changed(process.fd);
        }));
        return new SystemCall(process.fd, 0);
    }

    public static int openUnix(Errno errno) {
        return new Socket(engine().running()).fd;
    }

    public static void bind(Errno errno, int fd, Path path, int mode) {
        LISTENING.put(path, socket(fd));
    }

    public static Object bound(Object path) {
        return SocketPath.unbound((Path) path);
    }

    public static void listen(Errno errno, int fd, int backlog) {}

    public static int accept(Errno errno, int fd, int flags) {
        engine().call(LEAST_NANOS);
        Deque<Integer> accepting = socket(fd).accepting;
        return accepting.isEmpty() ? -Errno.EAGAIN : accepting.remove();
    }

    public static int connect(Errno errno, int fd, Path path) {
        engine().pause(engine().between(LEAST_NANOS, MOST_NANOS));
        Socket listening = LISTENING.get(path);
        if (listening == null) {
            return -Errno.ECONNREFUSED;
        }
        Socket own = socket(fd);
        Socket other = new Socket(listening.node);
        other.isAccepted = true;
        other.timeoutNanos = 0;
        other.peer = Optional.of(own);
        own.peer = Optional.of(other);
        listening.accepting.add(other.fd);
        Descriptors.changed(listening.fd);
        return 0;
    }

    public static void setReceiveTimeout(Errno errno, int fd, Duration timeout) {
        socket(fd).timeoutNanos = timeout.toNanos();
    }

    public static UnixSockets.Credentials peer(Errno errno, int fd) {
        int user = NativeThread.effectiveUser();
        return new UnixSockets.Credentials(pid(socket(fd).peer.orElseThrow().node), user, user, Set.of(user));
    }

    public static UnixSockets.Received receive(Errno errno, int fd, MemorySegment into, int maxDescriptors) {
        engine().call(LEAST_NANOS);
        if (Descriptors.find(fd, Socket.class).isEmpty()) {
            return new UnixSockets.Received(-Errno.EBADF, List.of());
        }
        Socket own = socket(fd);
        if (!own.isReadable() && own.timeoutNanos != 0) {
            Descriptors.await(new int[] {fd}, 1, own.timeoutNanos);
        }
        Packet packet = own.inbox.poll();
        if (packet == null) {
            return new UnixSockets.Received(own.hungUp ? 0 : -Errno.EAGAIN, List.of());
        }
        MemorySegment.copy(packet.bytes(), 0, into, JAVA_BYTE, 0, packet.bytes().length);
        if (!own.isAccepted) {
            PASSED.removeAll(packet.descriptors());
        }
        return new UnixSockets.Received(packet.bytes().length, packet.descriptors());
    }

    public static long send(Errno errno, int fd, byte[] bytes, List<Integer> descriptors) {
        engine().pause(engine().between(LEAST_NANOS, MOST_NANOS));
        if (Descriptors.isHungUp(fd)) {
            return -Errno.EPIPE;
        }
        Socket own = socket(fd);
        Socket other = own.peer.orElseThrow();
        List<Integer> passed = new ArrayList<>();
        descriptors.forEach(each -> passed.add(duplicate(each)));
        other.inbox.add(new Packet(bytes, passed));
        Descriptors.changed(other.fd);
        return bytes.length;
    }

    private static int duplicate(int descriptor) {
        if (Descriptors.isSimulated(descriptor)) {
            return descriptor;
        }
        int other = (int) SharedMemory.duplicate(descriptor).value();
        PASSED.add(other);
        return other;
    }

    /** Closes a socket; other simulated descriptors stay. */
    static void close(int fd) {
        if (Descriptors.isSimulated(fd)) {
            Descriptors.find(fd, Socket.class).ifPresent(Socket::close);
        } else {
            PASSED.remove(fd);
            FileIo.close(Errno.ofThread(), fd);
        }
    }

    private static void closeReal(int fd) {
        if (PASSED.contains(fd)) {
            close(fd);
        }
    }

    /** Closes what keepers still hold at the end of a simulation. */
    public static void endAll() {
        List.copyOf(PASSED).forEach(SocketHooks::close);
    }
}
