package io.farpage.supervise;

import io.farpage.linux.DatagramSocket;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.PosixException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A program under a service manager. A thread of its own feeds the watchdog, at a quarter of its period, while the
 * program's main loop makes progress; while it makes none, the status says why. A message for which the manager's queue
 * has no room is sent again a second later. Any thread.
 */
public final class Supervision implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Supervision.class);
    private static final Duration AGAIN = Duration.ofSeconds(1);

    private final Optional<DatagramSocket> manager;
    private final Optional<Duration> pause;
    private final Supplier<Optional<String>> stalled;
    private final Thread thread = Thread.ofPlatform().daemon().name("watchdog").unstarted(this::run);
    private final Semaphore woken = new Semaphore(0);

    /** Guarded by this: what the manager has not been told yet. */
    private Optional<String> owed = Optional.empty();
    /** Guarded by this: the status of a program that is not stalled. */
    private Optional<String> usual = Optional.empty();

    private volatile boolean ending;
    /** Whether log and manager know that the program is stalled. Only the thread uses it. */
    private boolean told;

    private Supervision(
            Optional<DatagramSocket> manager, Optional<Duration> watchdog, Supplier<Optional<String>> stalled) {
        this.manager = manager;
        this.pause = watchdog.map(Watchdog::pause);
        this.stalled = stalled;
    }

    /**
     * Begins to feed the watchdog, if the manager has one.
     *
     * @param environment of the process: {@code NOTIFY_SOCKET}, {@code WATCHDOG_USEC} and {@code WATCHDOG_PID} count
     * @param stalled why the main loop makes no progress; empty while it does. It is asked often and must not wait
     */
    public static Supervision begin(Map<String, String> environment, Supplier<Optional<String>> stalled) {
        Optional<DatagramSocket> manager =
                Optional.ofNullable(environment.get("NOTIFY_SOCKET")).flatMap(Supervision::open);
        Supervision supervision = new Supervision(
                manager, manager.isPresent() ? Watchdog.period(environment) : Optional.empty(), stalled);
        if (manager.isPresent()) {
            supervision.thread.start();
        }
        return supervision;
    }

    private static Optional<DatagramSocket> open(String address) {
        try {
            return Optional.of(DatagramSocket.to(address));
        } catch (IllegalArgumentException | PosixException e) {
            log.warn("the service manager is told nothing: NOTIFY_SOCKET: {}", e.getMessage());
            return Optional.empty();
        }
    }

    /**
     * The program serves from now on.
     *
     * @param status for {@code systemctl status}
     */
    public synchronized void ready(String status) {
        String assignment = status(status);
        usual = Optional.of(assignment);
        say("READY=1\n" + assignment);
    }

    /** An assignment ends with its line, so that a text of several lines could make further ones. */
    private static String status(String text) {
        return "STATUS=" + text.replaceAll("\\R", " ");
    }

    /** The program ends. */
    public void stopping() {
        say("STOPPING=1");
    }

    private synchronized void say(String message) {
        if (ending) {
            return;
        }
        manager.ifPresent(socket -> {
            String all = owed.map(before -> before + "\n" + message).orElse(message);
            long sent = socket.send(all);
            owed = sent < 0 ? Optional.of(all) : Optional.empty();
            if (sent < 0) {
                log.debug("sendto(NOTIFY_SOCKET): {}", ErrnoName.of((int) -sent));
                woken.release();
            }
        });
    }

    private void run() {
        try {
            while (!ending) {
                boolean wakened =
                        woken.tryAcquire(pause.orElse(Duration.ofDays(1)).toMillis(), TimeUnit.MILLISECONDS);
                if (wakened && !ending) {
                    Thread.sleep(AGAIN);
                    woken.drainPermits();
                    repeat();
                }
                if (pause.isPresent() && !ending) {
                    feed();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void repeat() {
        owed.ifPresent(message -> {
            owed = Optional.empty();
            say(message);
        });
    }

    private void feed() {
        Optional<String> reason = reason();
        if (reason.isEmpty()) {
            if (told) {
                told = false;
                log.warn("the program goes on, and the watchdog is fed again");
                usual().ifPresent(this::sayOnce);
            }
            sayOnce("WATCHDOG=1");
        } else if (!told) {
            told = true;
            log.error("the watchdog is not fed: {}", reason.get());
            sayOnce(status("stalled, the watchdog is not fed: " + reason.get()));
        }
    }

    private Optional<String> reason() {
        try {
            return stalled.get();
        } catch (RuntimeException e) {
            return Optional.of("the program's progress is not known: " + e);
        }
    }

    private synchronized Optional<String> usual() {
        return usual;
    }

    /** What is not sent again if the manager has no room for it. */
    private synchronized void sayOnce(String message) {
        if (!ending) {
            manager.ifPresent(socket -> socket.send(message));
        }
    }

    /** Feeds the watchdog no more. Says nothing. */
    @Override
    public synchronized void close() {
        if (!ending) {
            ending = true;
            woken.release();
            manager.ifPresent(DatagramSocket::close);
        }
    }
}
