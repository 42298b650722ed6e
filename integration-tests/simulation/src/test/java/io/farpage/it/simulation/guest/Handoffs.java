package io.farpage.it.simulation.guest;

import io.farpage.it.simulation.engine.Descriptors;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Where VMMs hand their memory over. */
public final class Handoffs {
    private static final Map<Path, Listener> LISTENERS = new HashMap<>();
    /** The memory of VMMs, by process id. */
    private static final Map<Integer, GuestKernel> PROCESSES = new HashMap<>();

    private record Listener(Node node, Runnable wake, Deque<Connection> connections) {}

    /**
     * What a VMM sends.
     *
     * @param space for messages
     * @param descriptors the userfaultfds, and the file of the memory
     * @param pid of the VMM
     */
    public record Message(String space, String json, List<Integer> descriptors, int pid) {}

    /**
     * A connection of a VMM, which waits for its end. The agent closes it without a word if it has taken the memory. If
     * the agent is killed, the kernel closes it: without a word if the agent has read all of the message, and otherwise
     * with ECONNRESET.
     */
    public static final class Connection {
        private final Message message;
        private final Node agent;
        private boolean isRead;
        private boolean isClosed;

        private Connection(Message message, Node agent) {
            this.message = message;
            this.agent = agent;
        }

        public Message message() {
            return message;
        }

        /** The agent reads the message to its end. */
        public void read() {
            isRead = true;
        }

        public void refuse(String reason) {
            Engine.get().fail("the memory of %s is refused: %s".formatted(message.space(), reason));
        }

        public void close() {
            isClosed = true;
        }

        boolean isOver() {
            return isClosed || agent.isDead();
        }

        /** Whether the VMM is to believe that its memory is taken. */
        boolean isTaken() {
            return isRead;
        }
    }

    private Handoffs() {}

    /** Listens; false if a process does so already. */
    public static boolean listen(Path path, Runnable wake) {
        Listener before = LISTENERS.get(path);
        if (before != null && !before.node().isDead()) {
            return false;
        }
        LISTENERS.put(path, new Listener(Engine.get().running(), wake, new ArrayDeque<>()));
        return true;
    }

    public static void stop(Path path) {
        LISTENERS.remove(path);
    }

    public static Optional<Connection> take(Path path) {
        return Optional.ofNullable(LISTENERS.get(path))
                .map(listener -> listener.connections().poll());
    }

    /** Whether a process id is of a VMM. */
    public static boolean isVmm(int pid) {
        return PROCESSES.containsKey(pid);
    }

    /** A descriptor of a VMM's process, which is readable when that has ended. */
    public static int openProcess(int pid) {
        GuestKernel memory = PROCESSES.get(pid);
        return Descriptors.open(memory, memory::hasEnded);
    }

    /** The processor time that a VMM has used. */
    public static Duration processorTime(int pid) {
        return PROCESSES.get(pid).processorTime();
    }

    /** Hands memory over; empty if nothing listens there. */
    static Optional<Connection> send(Path path, Message message) {
        Listener listener = LISTENERS.get(path);
        if (listener == null || listener.node().isDead()) {
            return Optional.empty();
        }
        Connection connection = new Connection(message, listener.node());
        listener.connections().add(connection);
        PROCESSES.put(message.pid(), Descriptors.object(message.descriptors().getLast(), GuestKernel.class));
        listener.wake().run();
        return Optional.of(connection);
    }
}
