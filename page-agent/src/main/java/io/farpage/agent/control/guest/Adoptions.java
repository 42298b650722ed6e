package io.farpage.agent.control.guest;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.seal.SealException;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.NodeReport;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Guests that an earlier process of this node has left running: each is served again once the coordinator has passed
 * the attachment of its space to this process, which it does when the homes have cut off the earlier one. A guest that
 * cannot be served is named in the log; its threads stay stopped. Thread-safe.
 */
final class Adoptions implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Adoptions.class);
    private static final Duration PAUSE = Duration.ofMillis(20);
    private static final Duration IDLE = Duration.ofSeconds(1);
    private static final Duration KEY_PAUSE = Duration.ofSeconds(1);
    private static final Duration RETRY_PAUSE = Duration.ofSeconds(1);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
    private static final long LOG_NANOS = Duration.ofSeconds(10).toNanos();

    private final Seals seals;
    private final Spaces spaces;
    private final Server server;
    private final List<LeftGuest> waiting = new CopyOnWriteArrayList<>();
    private final List<LeftGuest> refused = new CopyOnWriteArrayList<>();
    private final Set<Long> pending = ConcurrentHashMap.newKeySet();
    private final AtomicLong adopted = new AtomicLong();
    private final ControlThread thread =
            new ControlThread("adoptions", new ControlThread.Pauses(Duration.ZERO, PAUSE, CLOSE_TIMEOUT), this::step);
    private volatile BooleanSupplier known = () -> false;
    private long loggedAt = System.nanoTime();
    /** Starts one log interval in the past, so that the first missing key is logged immediately. */
    private long keyLoggedAt = loggedAt - LOG_NANOS;

    /** Serves guests. */
    interface Server {
        /**
         * Makes all ready to serve a guest.
         *
         * @param use of its space
         * @return serves it; called once, and the guest is not prepared again
         * @throws KeptGuestException if it cannot be served; the use is closed then
         * @throws RuntimeException if it cannot be served this time; the use goes on, for another attempt, and nothing
         *     else of this one is left
         */
        Runnable prepare(LeftGuest guest, SpaceUse use) throws KeptGuestException;

        /** A guest is not served. */
        void refused(LeftGuest guest, String why);
    }

    /**
     * @param keeping has the guests, those that cannot be served included
     * @param seals opens the spaces of those that are encrypted
     */
    Adoptions(GuestKeeping keeping, Seals seals, Spaces spaces, Server server) {
        this.seals = seals;
        this.spaces = spaces;
        this.server = server;
        keeping.takeLeft().forEach((space, parts) -> {
            LeftGuest guest = LeftGuest.of(space, keeping, parts);
            pending.add(space);
            waiting.add(guest);
            guest.holdOn();
        });
    }

    /** The spaces of the guests that this agent is about to serve. */
    List<Long> spaces() {
        return waiting.stream()
                .filter(guest -> guest.refusal().isEmpty())
                .map(LeftGuest::space)
                .toList();
    }

    /** The spaces of the guests that this agent does not serve yet, as the earlier process knew them. */
    List<NodeReport.Left> left() {
        return waiting.stream()
                .filter(guest -> guest.refusal().isEmpty())
                .flatMap(guest -> guest.record().stream())
                .flatMap(record ->
                        record.extents().stream().map(extents -> new NodeReport.Left(record.incarnation(), extents)))
                .toList();
    }

    /** Whether a guest of a space runs that this agent does not serve yet, or cannot serve. */
    boolean isPending(long space) {
        return pending.contains(space);
    }

    /** Guests that were adopted. */
    long adopted() {
        return adopted.get();
    }

    /** Guests that run and are not served. */
    int unserved() {
        return pending.size();
    }

    /** @param isKnown whether the coordinator knows this incarnation */
    void start(BooleanSupplier isKnown) {
        known = isKnown;
        thread.start();
    }

    private Duration step() throws CoordinatorException {
        for (LeftGuest guest : List.copyOf(waiting)) {
            if (guest.refusal().isPresent()) {
                refuse(guest, guest.refusal().get());
            } else if (known.getAsBoolean() && System.nanoTime() - guest.lockedUntil() >= 0) {
                adopt(guest);
            }
        }
        for (LeftGuest guest : List.copyOf(refused)) {
            if (guest.isOver()) {
                log.info("space {}: the VMM of the guest that was not adopted has ended", guest.name());
                guest.close();
                refused.remove(guest);
                pending.remove(guest.space());
            }
        }
        return waiting.isEmpty() ? refused.isEmpty() ? ControlThread.UNTIL_WOKEN : IDLE : PAUSE;
    }

    private void adopt(LeftGuest guest) throws CoordinatorException {
        GuestRecord record = guest.record().orElseThrow();
        Optional<Runnable> prepared = prepare(guest, record);
        if (prepared.isEmpty()) {
            return;
        }
        // From here on the guest is served. Whatever fails now, another attempt would make a second pager of its
        // memory.
        waiting.remove(guest);
        pending.remove(guest.space());
        adopted.incrementAndGet();
        log.info(
                "space {}: guest of process {} adopted, {} ms after this process began",
                record.name(),
                record.pid(),
                ManagementFactory.getRuntimeMXBean().getUptime());
        prepared.get().run();
    }

    /** Attempts to adopt a guest. Returns what serves it; empty if it is refused, or another attempt follows. */
    private Optional<Runnable> prepare(LeftGuest guest, GuestRecord record) throws CoordinatorException {
        try {
            guest.unlock(seals);
            if (guest.use().isEmpty()) {
                guest.use(spaces.adopt(record.space(), record.attached(), record.incarnation()));
            }
            if (guest.use().isEmpty()) {
                refuse(guest, "its space was deleted");
                return Optional.empty();
            }
            return Optional.of(server.prepare(guest, guest.use().get()));
        } catch (CoordinatorRefusedException e) {
            if (e.problem().is("fencing") || e.isStaleIncarnation() || e.isUnavailable()) {
                loggedAt = tellWaiting(guest, e, loggedAt);
            } else {
                refuse(guest, String.valueOf(e.getMessage()));
            }
        } catch (SealException e) {
            guest.lockUntil(System.nanoTime() + KEY_PAUSE.toNanos());
            keyLoggedAt = tellWaiting(guest, e, keyLoggedAt);
        } catch (KeptGuestException e) {
            refuse(guest, String.valueOf(e.getMessage()));
        } catch (RuntimeException e) {
            // Each attempt with an encrypted space uses up one of its 2^16 keys.
            guest.lockUntil(System.nanoTime() + RETRY_PAUSE.toNanos());
            log.warn("space {}: its guest is not adopted yet, trying again", guest.name(), e);
        }
        return Optional.empty();
    }

    /** Logs why a guest waits, at most once per interval. Returns the time of the last entry. */
    private static long tellWaiting(LeftGuest guest, Exception why, long toldAt) {
        if (System.nanoTime() - toldAt < LOG_NANOS) {
            return toldAt;
        }
        log.warn("space {}: its guest waits: {}", guest.name(), why.getMessage());
        return System.nanoTime();
    }

    private void refuse(LeftGuest guest, String why) {
        guest.refuse(why);
        log.error(
                "space {}: the guest that an earlier process of this agent has left is not adopted: {}; its threads"
                        + " stay stopped; end its VMM{}, or give up all that is kept with 'page-agent keeper-drop'",
                guest.name(),
                why,
                guest.pid() == 0 ? "" : " (process %d)".formatted(guest.pid()));
        server.refused(guest, why);
        waiting.remove(guest);
        refused.add(guest);
    }

    /** Guests that are not served yet stay at the keeper. */
    @Override
    public void close() {
        thread.close();
        waiting.forEach(guest -> guest.use().ifPresent(use -> use.tear("its guest was left and never served")));
    }
}
