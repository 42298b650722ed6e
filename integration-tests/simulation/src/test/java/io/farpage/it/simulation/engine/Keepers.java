package io.farpage.it.simulation.engine;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.SharedMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/** The keepers of hosts: an agent that is killed leaves descriptors there, which its successor gets. */
public final class Keepers {
    private static final Map<Path, Keeper> RUNNING = new HashMap<>();
    private static final long LEAST_NANOS = 5_000;
    private static final long MOST_NANOS = 100_000;

    private Keepers() {}

    /** One that runs until its host dies. What it holds are descriptors of its own. */
    public static final class Keeper {
        private Optional<Node> holder = Optional.empty();
        private Optional<Integer> pool = Optional.empty();
        private final NavigableMap<Long, Integer> held = new TreeMap<>();

        /**
         * Makes the process that runs the holder.
         *
         * @return another descriptor of what is kept
         */
        public Optional<Integer> claim() throws IOException {
            ask();
            if (holder.filter(one -> !one.isDead()).isPresent()) {
                throw new IOException(holder.get() + " is the agent");
            }
            holder = Optional.of(Engine.get().running());
            return pool.map(Keepers::duplicate);
        }

        public void keep(int descriptor) {
            ask();
            pool.ifPresent(Keepers::close);
            pool = Optional.of(duplicate(descriptor));
        }

        public void drop() {
            ask();
            close();
        }

        public void hold(long name, int descriptor) {
            ask();
            Optional.ofNullable(held.put(name, duplicate(descriptor))).ifPresent(Keepers::close);
        }

        /** Lets go of the descriptors whose names are in a range. */
        public void release(long first, long last) {
            ask();
            NavigableMap<Long, Integer> all = held.subMap(first, true, last, true);
            all.values().forEach(Keepers::close);
            all.clear();
        }

        /** Other descriptors of what is held, by name. */
        public NavigableMap<Long, Integer> held() {
            ask();
            NavigableMap<Long, Integer> all = new TreeMap<>(held);
            all.replaceAll((_, descriptor) -> duplicate(descriptor));
            return all;
        }

        private void close() {
            pool.ifPresent(Keepers::close);
            pool = Optional.empty();
            held.values().forEach(Keepers::close);
            held.clear();
        }

        private static void ask() {
            Engine engine = Engine.get();
            engine.pause(engine.between(LEAST_NANOS, MOST_NANOS));
        }
    }

    /** The one that listens at a path. */
    public static Keeper at(Path path) {
        return RUNNING.computeIfAbsent(path, _ -> new Keeper());
    }

    /** Ends one with its host. */
    public static void end(Path path) {
        Optional.ofNullable(RUNNING.remove(path)).ifPresent(Keeper::close);
    }

    /** Ends all. */
    public static void endAll() {
        RUNNING.values().forEach(Keeper::close);
        RUNNING.clear();
    }

    private static int duplicate(int descriptor) {
        return Descriptors.isSimulated(descriptor)
                ? descriptor
                : (int) SharedMemory.duplicate(descriptor).value();
    }

    private static void close(int descriptor) {
        if (!Descriptors.isSimulated(descriptor)) {
            FileIo.close(Errno.ofThread(), descriptor);
        }
    }
}
