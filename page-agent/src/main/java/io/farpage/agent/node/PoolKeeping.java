package io.farpage.agent.node;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.control.guest.GuestKeeping;
import io.farpage.agent.control.keeper.KeeperMode;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.member.KeptHosting;
import io.farpage.agent.rest.SocketDirectory;
import io.farpage.config.Config;
import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Seen;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.PoolFile;
import io.farpage.pool.PoolRecord;
import io.farpage.pool.PoolRecords;
import java.nio.file.Path;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pool, and whether it outlives this process. With a keeper the pool is in a file whose descriptor the keeper has.
 * An agent that was killed leaves it there, and its successor adopts it, with what the agent knew of its contents.
 */
public final class PoolKeeping implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PoolKeeping.class);

    private final Optional<KeptMemory> keeper;
    private final PagePool pool;
    private final Optional<PoolRecords> records;
    private boolean tooLong;

    private PoolKeeping(Optional<KeptMemory> keeper, PagePool pool) {
        this.keeper = keeper;
        this.pool = pool;
        this.records = pool.records();
    }

    /**
     * Opens the pool: the one that an earlier process of this node has left, or a new one.
     *
     * @param claimed what this process was given at the keeper as its standby; empty: it claims that now
     * @throws PoolException if the pool cannot be opened as configured, or what was left is not the pool that is
     *     configured
     * @throws io.farpage.agent.control.keeper.KeeperException if a keeper is configured and none answers, or another
     *     process has the pool
     */
    static PoolKeeping open(Config config, String node, Incarnation incarnation, Optional<KeptMemory> claimed)
            throws PoolException {
        PoolConfig wanted = AgentOptions.pool(config, node, incarnation.value());
        if (config.get(AgentKeys.KEEPER_MODE) == KeeperMode.OFF) {
            return new PoolKeeping(Optional.empty(), PagePool.open(wanted));
        }
        KeptMemory keeper = claimed.orElseGet(() -> KeptMemory.claim(socket(config, node)));
        try {
            Optional<Integer> left = keeper.takeAdopted();
            if (config.get(AgentKeys.KEEPER_STANDBY)) {
                keeper.followStandby();
            }
            PagePool pool =
                    left.isPresent() ? PagePool.adopt(wanted, PoolFile.adopt(left.get())) : PagePool.openInFile(wanted);
            if (left.isPresent()) {
                log.info("adopted the pool that incarnation {} of this node made", new Incarnation(pool.id()));
            }
            return new PoolKeeping(Optional.of(keeper), pool);
        } catch (PoolException | RuntimeException e) {
            keeper.close();
            throw e;
        }
    }

    /** The socket of a node's keeper. */
    public static Path socket(Config config, String node) {
        return config.get(AgentKeys.KEEPER_SOCKET)
                .orElseGet(() -> SocketDirectory.keeper(SocketDirectory.own(), node))
                .toAbsolutePath()
                .normalize();
    }

    /** Which guests outlive this process. */
    GuestKeeping guests(String node, Incarnation incarnation) {
        return new GuestKeeping(node, incarnation, keeper);
    }

    PagePool pool() {
        return pool;
    }

    /** Which coordinator is obeyed: one that knows all that the earlier process had seen. */
    Allegiance allegiance() {
        return records.map(PoolRecords::seen)
                .map(record -> new Allegiance(record.read().map(Seen::parse), seen -> write(record, seen.toString())))
                .orElseGet(Allegiance::new);
    }

    /** What lay in the pool as the earlier process knew it; nothing in a new pool. */
    KeptHosting hosted() {
        return records.flatMap(known -> known.hosted().read())
                .map(KeptHosting::parse)
                .orElse(KeptHosting.NOTHING);
    }

    /** What lies in the pool now, for a successor. */
    void hosts(KeptHosting now) {
        records.ifPresent(known -> write(known.hosted(), now.json()));
    }

    private void write(PoolRecord record, String text) {
        Optional<String> failure = record.write(text);
        if (failure.isPresent() && !tooLong) {
            log.warn(
                    "what this agent knows is not kept for its successor: {}; a coordinator that is lost together with"
                            + " this agent cannot be rebuilt from it",
                    failure.get());
        }
        tooLong = failure.isPresent();
    }

    /**
     * Makes the pool survive this process from now on. Call it before the node registers: until then no page is in the
     * pool.
     */
    void begin() {
        keeper.ifPresent(one -> one.keep(pool.file().orElseThrow().fd()));
    }

    /** The pages in the pool are lost: a successor starts with an empty pool. */
    void drop() {
        keeper.ifPresent(KeptMemory::drop);
    }

    /** The memory that the keeper holds: the pool and the guests. Empty if nothing is kept. */
    Optional<KeptMemory> keeper() {
        return keeper;
    }

    /** Where the pool is kept, in words. */
    String describe() {
        return keeper.map(one -> one.isKept() ? ", kept" : ", not kept: the keeper has ended")
                .orElse("");
    }

    /** Ends the connection to the keeper; the pool stays mapped. */
    @Override
    public void close() {
        keeper.ifPresent(KeptMemory::close);
    }
}
