package io.farpage.agent.control.space;

import io.farpage.coordinator.client.CoordinatorException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests to the coordinator that one thread begins and does not wait for, so that none waits for another. At most one
 * request of a name is under way. The thread is woken when one has ended. It alone calls the methods.
 */
final class Errands {
    private static final Logger log = LoggerFactory.getLogger(Errands.class);
    /** How long a request is not begun again that was refused or got no answer. */
    static final Duration RETRY = Duration.ofMillis(200);

    private final Executor beside;
    private final LongSupplier clock;
    private final Runnable wake;
    private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

    private record Attempt(boolean underWay, long notBefore) {}

    /** A request, with what follows from its answer. */
    interface Request {
        void run() throws CoordinatorException;
    }

    /**
     * @param beside runs requests
     * @param clock as {@link System#nanoTime}
     * @param wake called when a request has ended
     */
    Errands(Executor beside, LongSupplier clock, Runnable wake) {
        this.beside = beside;
        this.clock = clock;
        this.wake = wake;
    }

    /** Begins a request, unless one of that name is under way or has just failed. Returns whether it has begun. */
    boolean begin(String name, Request request) {
        Attempt last = attempts.get(name);
        if (last != null && (last.underWay() || last.notBefore() - clock.getAsLong() > 0)) {
            return false;
        }
        attempts.put(name, new Attempt(true, 0));
        beside.execute(() -> run(name, request));
        return true;
    }

    private void run(String name, Request request) {
        try {
            request.run();
            attempts.remove(name);
        } catch (CoordinatorException e) {
            log.debug("{}: {}", name, e.toString());
        } catch (RuntimeException e) {
            log.error("{}: a request failed; it is repeated", name, e);
        } finally {
            attempts.computeIfPresent(name, (_, _) -> new Attempt(false, clock.getAsLong() + RETRY.toNanos()));
            wake.run();
        }
    }

    /** How long until a request may be begun again that has failed; {@code longest} at most. */
    Duration pause(Duration longest) {
        long now = clock.getAsLong();
        attempts.values().removeIf(last -> !last.underWay() && last.notBefore() - now <= 0);
        return attempts.values().stream()
                .filter(last -> !last.underWay())
                .map(last -> Duration.ofNanos(last.notBefore() - now))
                .reduce(longest, (a, b) -> a.compareTo(b) < 0 ? a : b);
    }
}
