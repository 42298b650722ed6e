package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.device.FakeRdma;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.device.Transports;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.hugepages.HugepageSize;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Revoking and fencing while a device takes long to register a range. */
final class HomeGrantsTest {
    private static final int POOL_BYTES = 2 << 20;
    private static final Incarnation HOME = new Incarnation(1);
    private static final Incarnation GUEST = new Incarnation(2);

    private final FakeRdma rdma = new FakeRdma("mlx5_0");
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);
    private final AtomicInteger registered = new AtomicInteger();
    private PagePool pool;
    private Transports transports;
    private HomeGrants grants;

    @BeforeEach
    void open() throws PoolException {
        pool = PagePool.open(PoolConfig.of("home", HOME.value(), POOL_BYTES, POOL_BYTES)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        transports = Transports.open(TransportMode.AUTO, rdma, FakeRdma.tcp(), pool);
        CoordinatorClient nobody = new CoordinatorClient(URI.create("http://127.0.0.1:1"), Duration.ofMillis(100));
        grants = new HomeGrants(new LocalNode("home", HOME, pool, nobody, LinkKeys.generate("home", HOME)), transports);
        rdma.onRegister = () -> {
            registered.incrementAndGet();
            begun.countDown();
            try {
                assertTrue(goOn.await(10, TimeUnit.SECONDS));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
    }

    @AfterEach
    void close() {
        goOn.countDown();
        threads.close();
        transports.close();
        pool.close();
    }

    /** What this node is told: {@code guest} is attached to a space that is here. */
    private Hosted hosted() {
        Space space = new Space(1, "one", POOL_BYTES, 4096, ExtentState.OK, Instant.EPOCH, false);
        Extent extent = new Extent(
                0, POOL_BYTES / 4096, List.of(new ExtentHome("home", new Incarnation(pool.id()), 0)), ExtentState.OK);
        return new Hosted(
                10,
                List.of(new SpaceExtents(space, 10, List.of(extent))),
                List.of(),
                List.of(new HostedAttachment(1, "guest", GUEST, false)),
                Optional.empty());
    }

    /** Does something while the grant is being registered; what becomes of the grant. */
    private boolean grantWhile(Runnable meanwhile) throws Exception {
        Callable<Boolean> grant = () -> grants.grant(hosted());
        Future<Boolean> granted = threads.submit(grant);
        assertTrue(begun.await(10, TimeUnit.SECONDS));
        threads.submit(meanwhile).get(3, TimeUnit.SECONDS);
        goOn.countDown();
        return granted.get(10, TimeUnit.SECONDS);
    }

    @Test
    void shouldBarANodeWhileARangeIsBeingRegisteredForIt() throws Exception {
        assertTrue(grantWhile(() -> grants.bar("guest", GUEST)), "there is nothing to grant any more");
        assertEquals(1, registered.get());
        assertEquals(0, transports.devices().getFirst().exportedRanges(), "the range is deregistered again");
    }

    @Test
    void shouldRevokeAnotherRangeOfTheDeviceMeanwhile() throws Exception {
        rdma.onRegister = () -> {};
        var other = transports.devices().getFirst().export(0, 4096);
        rdma.onRegister = () -> {
            begun.countDown();
            try {
                assertTrue(goOn.await(10, TimeUnit.SECONDS));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
        grantWhile(() -> {
            other.close();
            grants.bar("guest", GUEST);
        });
    }

    @Test
    void shouldNotGiveARangeThatIsReleasedWhileItIsBeingRegistered() throws Exception {
        assertTrue(grantWhile(() -> grants.revoke(0, POOL_BYTES)), "there is nothing to grant any more");
        assertEquals(0, transports.devices().getFirst().exportedRanges());
    }
}
