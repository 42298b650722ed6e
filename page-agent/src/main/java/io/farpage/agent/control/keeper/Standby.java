package io.farpage.agent.control.keeper;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A process that is ready to be the agent, and waits at the keeper until the agent has ended. The keeper then makes it
 * the holder of what is kept, as if it had claimed that. Until then it has no descriptor of the pool or of a guest, so
 * it can change nothing. One thread.
 */
public final class Standby {
    private static final Logger log = LoggerFactory.getLogger(Standby.class);
    private static final Duration RETRY = Duration.ofSeconds(1);

    private final Path path;
    private final LongPredicate isPool;
    private boolean away;

    /** @param isPool whether a file of the given number of bytes can be the configured pool */
    public Standby(Path path, LongPredicate isPool) {
        this.path = path;
        this.isPool = isPool;
    }

    /** What a keeper says of itself. */
    public static KeeperState look(Path path) throws IOException {
        try (KeeperConnection connection = KeeperConnection.open(path)) {
            return connection.look();
        }
    }

    /**
     * What is kept, if no other process has it.
     *
     * @throws KeeperException if no keeper answers, or this version cannot read what it keeps
     */
    public Optional<KeptMemory> claim() {
        try {
            return Optional.of(KeptMemory.claim(path));
        } catch (KeeperException e) {
            if (e.getCause() instanceof KeeperBusyException) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /**
     * Waits until the agent has ended and has left what it had. Follows a keeper that is started again.
     *
     * @throws KeeperException if this process could not go on where the agent ends: now, so that the agent's supervisor
     *     sees it before
     */
    public KeptMemory await() throws InterruptedException {
        while (true) {
            Optional<KeeperConnection> opened = Optional.empty();
            try {
                KeeperConnection connection = KeeperConnection.open(path);
                opened = Optional.of(connection);
                check(connection.await());
                log.info(
                        "warm: this process takes over when the agent, process {}, ends",
                        look(path).agent());
                away = false;
                Optional<Integer> pool = connection.awaitGrant();
                return KeptMemory.granted(path, connection, pool);
            } catch (KeptFormatException e) {
                opened.ifPresent(KeeperConnection::close);
                throw new KeeperException(String.valueOf(e.getMessage()), e);
            } catch (IOException e) {
                opened.ifPresent(KeeperConnection::close);
                if (!away) {
                    log.error("no standby: the keeper at {} does not answer as one: {}", path, e.getMessage());
                }
                away = true;
            } catch (KeeperException e) {
                opened.ifPresent(KeeperConnection::close);
                throw e;
            }
            Thread.sleep(RETRY);
        }
    }

    private void check(long kept) {
        if (kept != 0 && !isPool.test(kept)) {
            throw new KeeperException(
                    ("the agent's pool has %d bytes, and pool.exported with pool.staging of this standby makes another;"
                                    + " set both as the agent has them")
                            .formatted(kept));
        }
    }
}
