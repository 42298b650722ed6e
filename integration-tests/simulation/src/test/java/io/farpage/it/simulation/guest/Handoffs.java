package io.farpage.it.simulation.guest;

import io.farpage.it.simulation.engine.Descriptors;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Where VMMs hand their memory over. */
public final class Handoffs {
    private static final Map<Path, Listener> LISTENERS = new HashMap<>();
    /** The memory of VMMs, by process id. */
    private static final Map<Integer, GuestKernel> PROCESSES = new HashMap<>();

    private record Listener(Node node, Runnable wake, Deque<Message> messages) {}

    /**
     * What a VMM sends.
     *
     * @param refusal told why it is refused
     */
    public record Message(String json, List<Integer> descriptors, int pid, Consumer<String> refusal) {
        public void refused(String reason) {
            refusal.accept(reason);
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

    public static Optional<Message> take(Path path) {
        return Optional.ofNullable(LISTENERS.get(path))
                .map(listener -> listener.messages().poll());
    }

    /** A descriptor of a VMM's process, which is readable when that has ended. */
    public static int openProcess(int pid) {
        GuestKernel memory = PROCESSES.get(pid);
        return Descriptors.open(memory, memory::hasEnded);
    }

    /** Hands memory over; false if nothing listens there. */
    public static boolean send(Path path, Message message) {
        Listener listener = LISTENERS.get(path);
        if (listener == null) {
            return false;
        }
        listener.messages().add(message);
        PROCESSES.put(message.pid(), Descriptors.object(message.descriptors().getLast(), GuestKernel.class));
        listener.wake().run();
        return true;
    }
}
