package io.farpage.agent.control.keeper;

import io.farpage.agent.control.ControlThread;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory of this agent at its keeper. If the keeper ends, the agent runs on, says so, and gives the memory to the
 * next keeper that listens at the path. Thread-safe.
 */
public final class KeptMemory implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(KeptMemory.class);
    private static final Duration LOOK = Duration.ofSeconds(1);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final Path path;
    private final ControlThread thread;
    private Optional<KeeperConnection> connection;
    private Optional<Integer> adopted;
    private NavigableMap<KeptName, Integer> left;
    private OptionalInt memory = OptionalInt.empty();
    /** What the keeper must hold beside the pool. The descriptors are their owners'. */
    private final NavigableMap<KeptName, Integer> held = new TreeMap<>();

    private volatile boolean kept;
    /** Whether the keeper has taken everything that was passed to it. */
    private boolean complete = true;

    private boolean followsStandby;
    private volatile OptionalInt standby = OptionalInt.empty();

    private KeptMemory(
            Path path, KeeperConnection connection, Optional<Integer> adopted, NavigableMap<KeptName, Integer> left) {
        this.path = path;
        this.connection = Optional.of(connection);
        this.adopted = adopted;
        this.left = left;
        thread = ControlThread.ofPlatform("keeper", new ControlThread.Pauses(LOOK, LOOK, CLOSE_TIMEOUT), this::step);
    }

    /**
     * Makes this process the holder.
     *
     * @throws KeeperException if no keeper listens at the path, or another process is the holder
     */
    public static KeptMemory claim(Path path) {
        return claim(path, KeptFormat.VERSION);
    }

    /**
     * Makes this process the holder of what is kept, to drop it.
     *
     * @throws KeeperException as {@link #claim(Path)}
     */
    public static KeptMemory claimToDrop(Path path) {
        return claim(path, KeptFormat.ANY);
    }

    private static KeptMemory claim(Path path, long format) {
        Optional<KeeperConnection> opened = Optional.empty();
        try {
            KeeperConnection connection = KeeperConnection.open(path);
            opened = Optional.of(connection);
            return granted(path, connection, connection.claim(format));
        } catch (IOException e) {
            opened.ifPresent(KeeperConnection::close);
            String problem = e instanceof KeeperBusyException || e instanceof KeptFormatException
                    ? String.valueOf(e.getMessage())
                    : ("keeper.mode is process, and no keeper answers at %s: %s; start 'page-agent keeper' as a service"
                                    + " of its own, or set keeper.mode to off")
                            .formatted(path, e.getMessage());
            throw new KeeperException(problem, e);
        }
    }

    /**
     * What a holder has.
     *
     * @param pool the descriptor that was kept; closed if this throws
     */
    static KeptMemory granted(Path path, KeeperConnection connection, Optional<Integer> pool) throws IOException {
        try {
            return new KeptMemory(path, connection, pool, connection.held());
        } catch (IOException e) {
            pool.ifPresent(descriptor -> FileIo.close(Errno.ofThread(), descriptor));
            throw e;
        }
    }

    /** Takes the descriptor of what an earlier process has left, if it has; the caller's from now on. */
    public synchronized Optional<Integer> takeAdopted() {
        Optional<Integer> taken = adopted;
        adopted = Optional.empty();
        return taken;
    }

    /**
     * Takes the descriptors that an earlier process has left under names; the caller's from now on. The keeper holds
     * them, too.
     */
    public synchronized NavigableMap<KeptName, Integer> takeLeft() {
        NavigableMap<KeptName, Integer> taken = left;
        left = new TreeMap<>();
        return taken;
    }

    /**
     * Keeps descriptors under names from now on.
     *
     * @param all of one group; open until {@link #release}. The keeper holds the last one only if it holds all others
     * @return whether the keeper holds all of them. If not, it is given them again when it answers again
     */
    public synchronized boolean hold(NavigableMap<KeptName, Integer> all) {
        held.putAll(all);
        boolean taken = false;
        try {
            taken = hold(connection.orElseThrow(() -> new IOException("it has ended")), all);
            return taken;
        } catch (IOException e) {
            log.warn("the keeper at {} does not take descriptors: {}", path, e.getMessage());
            return false;
        } finally {
            complete &= taken;
        }
    }

    private static boolean hold(KeeperConnection by, NavigableMap<KeptName, Integer> all) throws IOException {
        // The first part of a group says that it is complete.
        for (Map.Entry<KeptName, Integer> one : all.descendingMap().entrySet()) {
            if (!by.hold(one.getKey(), one.getValue())) {
                log.error("the keeper holds as many descriptors as it may");
                return false;
            }
        }
        return true;
    }

    /** Makes the keeper release a group. */
    public synchronized void release(long group) {
        held.subMap(new KeptName(group, 0), true, new KeptName(group, 255), true)
                .clear();
        try {
            if (connection.isPresent()) {
                connection.get().release(group);
            }
        } catch (IOException e) {
            log.warn("the keeper at {} still holds descriptors: {}", path, e.getMessage());
        }
    }

    /**
     * Keeps the memory from now on, and follows the keeper.
     *
     * @param descriptor open until this is closed
     * @throws KeeperException if the keeper does not take it
     */
    public synchronized void keep(int descriptor) {
        memory = OptionalInt.of(descriptor);
        try {
            connection.orElseThrow(() -> new IOException("it has ended")).keep(descriptor);
        } catch (IOException e) {
            throw new KeeperException(
                    "the keeper at %s does not take the pool: %s; start it again, or set keeper.mode to off"
                            .formatted(path, e.getMessage()),
                    e);
        }
        kept = true;
        thread.start();
    }

    /** Gives up the memory: a successor starts with empty memory. */
    public synchronized void drop() {
        memory = OptionalInt.empty();
        held.clear();
        kept = false;
        try {
            if (connection.isPresent()) {
                connection.get().drop();
            }
        } catch (IOException e) {
            log.warn("the keeper at {} still has the pool, whose pages are given up: {}", path, e.getMessage());
        }
    }

    /** Whether a successor would get the memory. */
    public boolean isKept() {
        return kept;
    }

    /** Whether a successor would get all that this process has given to the keeper. */
    public synchronized boolean isComplete() {
        return kept && complete;
    }

    /**
     * What the keeper says of itself.
     *
     * @throws IOException if it does not answer, or is of a version without standbys
     */
    public synchronized KeeperState look() throws IOException {
        KeeperConnection asked = connection.orElseThrow(() -> new IOException("it has ended"));
        try {
            return asked.look();
        } catch (IOException e) {
            // An answer that comes late would be taken for the next one's, so another connection follows.
            asked.close();
            connection = Optional.empty();
            throw e;
        }
    }

    /**
     * Enables reports of whether a standby is warm, in the log and in {@link #standby}. Call it before {@link #keep}.
     */
    public synchronized void followStandby() {
        followsStandby = true;
    }

    /** The process that is the agent next, as it was within the last second or so; empty if none is warm. */
    public OptionalInt standby() {
        return standby;
    }

    private void lookForStandby() {
        try {
            int process = look().standby();
            OptionalInt now = process == 0 ? OptionalInt.empty() : OptionalInt.of(process);
            if (!now.equals(standby)) {
                now.ifPresentOrElse(
                        one -> log.info("process {} is the warm standby of this agent", one),
                        () -> log.warn(
                                "this agent no longer has a warm standby: if this agent is killed now, its guests wait"
                                        + " for the start of another"));
            }
            standby = now;
        } catch (IOException e) {
            log.warn("the keeper at {} does not report standbys: {}", path, e.getMessage());
            standby = OptionalInt.empty();
        }
    }

    private synchronized Duration step() {
        if (memory.isEmpty()) {
            return ControlThread.UNTIL_WOKEN;
        }
        if (connection.filter(one -> !one.isBroken()).isPresent()) {
            if (followsStandby) {
                lookForStandby();
            }
            return LOOK;
        }
        if (kept) {
            log.error(
                    "the keeper at {} has ended: if this agent is killed now, the pages in its pool are lost; start"
                            + " 'page-agent keeper' again",
                    path);
            kept = false;
        }
        connection.ifPresent(KeeperConnection::close);
        connection = Optional.empty();
        reconnect();
        return LOOK;
    }

    private void reconnect() {
        Optional<KeeperConnection> opened = Optional.empty();
        try {
            KeeperConnection next = KeeperConnection.open(path);
            opened = Optional.of(next);
            Optional<Integer> other = next.claim();
            if (other.isPresent()) {
                // The keeper lives, and only the connection ended: what it keeps is this memory.
                FileIo.close(Errno.ofThread(), other.get());
            }
            next.keep(memory.orElseThrow());
            for (Map.Entry<KeptName, Integer> known : next.held().entrySet()) {
                FileIo.close(Errno.ofThread(), known.getValue());
                if (!held.containsKey(known.getKey())) {
                    next.release(known.getKey().group());
                }
            }
            complete = hold(next, held);
            connection = opened;
            kept = true;
            log.info("the pool is kept at {} again", path);
        } catch (IOException e) {
            opened.ifPresent(KeeperConnection::close);
            log.debug("no keeper at {}: {}", path, e.getMessage());
        }
    }

    /** Ends the connection. What is kept stays kept, for the successor, once this process has ended. */
    @Override
    public void close() {
        thread.close();
        synchronized (this) {
            takeAdopted().ifPresent(descriptor -> FileIo.close(Errno.ofThread(), descriptor));
            takeLeft().values().forEach(descriptor -> FileIo.close(Errno.ofThread(), descriptor));
            connection.ifPresent(KeeperConnection::close);
            connection = Optional.empty();
        }
    }
}
