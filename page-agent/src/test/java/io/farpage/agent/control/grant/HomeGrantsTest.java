package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.device.FakeRdma;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.device.Transports;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.DroppedHome;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.rest.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Which ranges of the pool another node has access to, as answers of the coordinator and releases come, and while a
 * device takes long to register a range.
 */
final class HomeGrantsTest {
    private static final int POOL_BYTES = 2 << 20;
    private static final int PAGE = 4096;
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
    private long attachment = 1;
    private long granted;

    @BeforeEach
    void open() throws PoolException {
        pool = PagePool.open(PoolConfig.of("home", HOME.value(), POOL_BYTES, POOL_BYTES)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        transports = Transports.open(TransportMode.AUTO, rdma, FakeRdma.tcp(), pool, System::nanoTime);
        grants = grants(new CoordinatorClient(URI.create("http://127.0.0.1:1"), Duration.ofMillis(100)));
        rdma.onRegister = () -> {
            registered.incrementAndGet();
            begun.countDown();
            try {
                Deadlines.down("the word to go on", Deadlines.SHORT, goOn);
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

    private HomeGrants grants(CoordinatorClient coordinator) {
        return new HomeGrants(
                new LocalNode("home", HOME, pool, coordinator, LinkKeys.generate("home", HOME, Optional.empty())),
                transports);
    }

    /** The guest is attached, and must be cut off. */
    private Hosted fenced() {
        return hosted(extent(0, POOL_BYTES / PAGE, 0))
                .withFences(List.of(new Fence("home", HOME, 1, "guest", GUEST, false)));
    }

    /** What the coordinator lists in the pool: {@code guest} is attached to a space of these extents. */
    private Hosted hosted(Extent... extents) {
        return hosted(List.of("guest"), extents);
    }

    private Hosted hosted(List<String> attached, Extent... extents) {
        Space space = new Space(1, "one", POOL_BYTES, 4096, ExtentState.OK, Instant.EPOCH, false);
        return new Hosted(
                10,
                List.of(new SpaceExtents(space, 10, List.of(extents))),
                List.of(),
                attached.stream()
                        .map(node -> HostedAttachment.of(
                                new Attachment(1, node, GUEST, AttachMode.EXCLUSIVE, attachment), granted))
                        .toList(),
                List.of(),
                List.of());
    }

    private Extent extent(long firstPage, long pages, long offset) {
        return new Extent(
                firstPage, pages, List.of(new ExtentHome("home", new Incarnation(pool.id()), offset)), ExtentState.OK);
    }

    /** An extent of a page that the pool was dropped from. */
    private Extent dropped(long firstPage, long offset) {
        return new Extent(
                firstPage,
                1,
                List.of(new ExtentHome("other", HOME, 0)),
                ExtentState.OK,
                OptionalLong.of(1),
                Optional.of(List.of(new DroppedHome("home", new Incarnation(pool.id()), offset, 1))),
                Optional.empty(),
                Optional.empty());
    }

    private boolean grant(Extent... extents) throws CoordinatorException {
        grants.follow(hosted(extents));
        return grants.grantAll();
    }

    private boolean isGranted(long offset) {
        return grants.isGranted(offset, PAGE);
    }

    /** Does something while the grant is being registered; what becomes of the grant. */
    private boolean grantWhile(Runnable meanwhile) throws Exception {
        grants.follow(hosted(extent(0, POOL_BYTES / PAGE, 0)));
        Callable<Boolean> grant = grants::grantAll;
        Future<Boolean> granted = threads.submit(grant);
        Deadlines.down("the beginning", Deadlines.SHORT, begun);
        Deadlines.get("what is done meanwhile", Duration.ofSeconds(3), threads.submit(meanwhile));
        goOn.countDown();
        return Deadlines.get("the grant", Deadlines.SHORT, granted);
    }

    @Test
    void shouldBarANodeWhileARangeIsBeingRegisteredForIt() throws Exception {
        assertTrue(grantWhile(() -> grants.follow(fenced())), "nothing is left to grant");
        assertEquals(1, registered.get());
        assertEquals(0, transports.devices().getFirst().exportedRanges(), "the range is deregistered again");
    }

    @Test
    void shouldGrantNothingToAFencedNodeUntilTheFenceIsLifted(@TempDir Path directory) throws Exception {
        goOn.countDown();
        try (TestCoordinator coordinator = new TestCoordinator(directory)) {
            grants = grants(coordinator.client());
            grant(extent(0, 1, 0));
            assertTrue(isGranted(0));
            grants.follow(fenced());
            assertFalse(isGranted(0));
            grants.grantAll();
            assertFalse(isGranted(0));
            grant(extent(0, 1, 0));
            assertTrue(isGranted(0));
        }
    }

    @Test
    void shouldGrantNothingOfACoherentSpace(@TempDir Path directory) throws Exception {
        goOn.countDown();
        try (TestCoordinator coordinator = new TestCoordinator(directory)) {
            grants = grants(coordinator.client());
            Hosted plain = hosted(extent(0, 1, 0));
            SpaceExtents space = plain.spaces().getFirst();
            SpaceExtents coherent = new SpaceExtents(space.space().withCoherent(), space.revision(), space.extents());
            grants.follow(plain);
            grants.grantAll();
            assertTrue(isGranted(0));
            grants.follow(new Hosted(
                    10, List.of(coherent), plain.fences(), plain.attachments(), plain.pulls(), plain.releases()));
            assertTrue(grants.grantAll());
            assertFalse(isGranted(0));
        }
    }

    @Test
    void shouldRevokeAnotherRangeOfTheDeviceMeanwhile() throws Exception {
        rdma.onRegister = () -> {};
        var other = transports.devices().getFirst().export(0, 4096);
        rdma.onRegister = () -> {
            begun.countDown();
            try {
                Deadlines.down("the word to go on", Deadlines.SHORT, goOn);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
        grantWhile(() -> {
            other.close();
            grants.follow(fenced());
        });
    }

    @Test
    void shouldNotGiveARangeThatIsReleasedWhileItIsBeingRegistered() throws Exception {
        assertTrue(grantWhile(() -> grants.revoke(0, POOL_BYTES)), "nothing is left to grant");
        assertEquals(0, transports.devices().getFirst().exportedRanges());
    }

    @Test
    void shouldNotGrantARangeThatALaterListReleasesMeanwhile() throws Exception {
        boolean all = grantWhile(() -> {
            grants.follow(hosted(extent(1, 1, PAGE)));
            grants.revoke(0, PAGE);
        });
        assertTrue(all, "the list that the pass began with leaves nothing to grant");
        assertFalse(isGranted(0));
        assertEquals(0, transports.devices().getFirst().exportedRanges(), "the range is deregistered again");
    }

    @Test
    void shouldNotGrantToANodeThatALaterListDoesNotName() throws Exception {
        Hosted both = hosted(List.of("first", "second"), extent(0, 1, 0));
        grants.follow(both);
        Future<Boolean> granted = threads.submit(grants::grantAll);
        Deadlines.down("the beginning", Deadlines.SHORT, begun);
        grants.follow(hosted(List.of(), extent(0, 1, 0)));
        goOn.countDown();
        assertTrue(Deadlines.get("the grants", Deadlines.SHORT, granted), "nothing is left to grant");
        assertEquals(1, registered.get());
        assertEquals(0, transports.devices().getFirst().exportedRanges());
    }

    @Test
    void shouldNotGrantARangeThatTheLatestListDoesNotName(@TempDir Path directory) throws Exception {
        goOn.countDown();
        try (TestCoordinator coordinator = new TestCoordinator(directory)) {
            grants = grants(coordinator.client());
            grants.follow(hosted(extent(0, 1, 0), extent(1, 1, PAGE)));
            grants.follow(hosted(extent(1, 1, PAGE)));
            grants.revoke(0, PAGE);
            grants.grantAll();
            assertFalse(isGranted(0));
            assertTrue(isGranted(PAGE));

            grant(extent(0, 1, 0), extent(1, 1, PAGE));
            assertTrue(isGranted(0), "the next list names it again, so it is the space's");
        }
    }

    @Test
    void shouldRevokeAnUnlistedRangeAndKeepADroppedOne(@TempDir Path directory) throws Exception {
        goOn.countDown();
        try (TestCoordinator coordinator = new TestCoordinator(directory)) {
            grants = grants(coordinator.client());
            grant(extent(0, 1, 0), extent(1, 1, PAGE), extent(2, 1, 2L * PAGE));
            assertTrue(isGranted(0) && isGranted(PAGE) && isGranted(2L * PAGE));
            grant(dropped(0, 0), extent(2, 1, 2L * PAGE));
            assertTrue(isGranted(0), "WRITEs may be under way");
            assertFalse(isGranted(PAGE));
            assertTrue(isGranted(2L * PAGE));
        }
    }

    /** What it had under way before it detached must not reach the pages afterwards. */
    @Test
    void shouldGiveANodeThatHasAttachedAgainOtherKeys(@TempDir Path directory) throws Exception {
        goOn.countDown();
        try (TestCoordinator coordinator = new TestCoordinator(directory)) {
            grants = grants(coordinator.client());
            grant(extent(0, 1, 0));
            grant(extent(0, 1, 0));
            assertEquals(1, registered.get());
            attachment++;
            grants.follow(hosted(extent(0, 1, 0)));
            assertFalse(isGranted(0), "the keys of the earlier attachment are revoked");
            grants.grantAll();
            assertTrue(isGranted(0));
            assertEquals(2, registered.get());
        }
    }

    @Test
    void shouldGrantTheRestOfARegionAgainOfWhichAPartWasReleased(@TempDir Path directory) throws Exception {
        goOn.countDown();
        try (TestCoordinator coordinator = new TestCoordinator(directory)) {
            grants = grants(coordinator.client());
            grant(extent(0, 2, 0));
            grants.follow(hosted(extent(1, 1, PAGE)));
            grants.revoke(0, PAGE);
            assertFalse(isGranted(PAGE), "a key is revoked as a whole");
            grants.grantAll();
            assertFalse(isGranted(0));
            assertTrue(isGranted(PAGE));
        }
    }

    /** A region that is registered anew refuses the transfers that are under way. */
    @Test
    void shouldKeepRegionsWhenAnotherExtentJoinsMany(@TempDir Path directory) throws Exception {
        goOn.countDown();
        try (TestCoordinator coordinator = new TestCoordinator(directory)) {
            grants = grants(coordinator.client());
            for (int extents = 127; extents < 132; extents++) {
                grant(extents(extents));
                assertEquals(
                        extents,
                        transports.devices().getFirst().exportedRanges(),
                        "each extent that joined has a region of its own");
                assertEquals(extents, registered.get(), "no range is registered twice");
            }
        }
    }

    /** A publication that arrived late may have come after the last one, or the coordinator was started again. */
    @Test
    void shouldPublishAgainUnlessTheCoordinatorHasTheLatestVersion() throws Exception {
        goOn.countDown();
        List<Long> published = new CopyOnWriteArrayList<>();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext(
                "/api/v1/nodes/guest", exchange -> answer(exchange, 200, Json.STRICT.writeValueAsBytes(guest())));
        server.createContext("/api/v1/nodes/home/grants/1/guest", exchange -> {
            GrantRequest said = Json.STRICT.readValue(exchange.getRequestBody().readAllBytes(), GrantRequest.class);
            published.add(said.version());
            Grant kept = new Grant(
                    1, "home", HOME, "guest", GUEST, attachment, Optional.empty(), said.version(), said.sealed());
            answer(exchange, 200, Json.STRICT.writeValueAsBytes(kept));
        });
        server.start();
        URI url = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
        try (CoordinatorClient client = new CoordinatorClient(url, Duration.ofSeconds(30))) {
            grants = grants(client);
            grant(extent(0, 1, 0));
            granted = 1;
            grant(extent(0, 1, 0));
            assertEquals(List.of(1L), published);
            granted = 0;
            grant(extent(0, 1, 0));
            granted = 1;
            grant(extent(0, 1, 0));
            assertEquals(List.of(1L, 2L, 3L), published);
            assertEquals(1, registered.get(), "the regions stay");
        } finally {
            server.stop(0);
        }
    }

    /** A store that fails may have told the node of the keys: a WRITE with them is not to be refused. */
    @Test
    void shouldRevokeARefusedGrantAndKeepOneThatMayBePublished() throws Exception {
        goOn.countDown();
        AtomicInteger status = new AtomicInteger(503);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext(
                "/api/v1/nodes/guest", exchange -> answer(exchange, 200, Json.STRICT.writeValueAsBytes(guest())));
        server.createContext(
                "/api/v1/nodes/home/grants/1/guest", exchange -> answer(exchange, status.get(), problem(status.get())));
        server.start();
        URI url = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
        try (CoordinatorClient client = new CoordinatorClient(url, Duration.ofSeconds(30))) {
            grants = grants(client);
            assertThrows(CoordinatorRefusedException.class, () -> grant(extent(0, 1, 0)));
            assertTrue(isGranted(0), "the store may have failed after the node had read the grant");
            status.set(409);
            assertTrue(grant(extent(0, 1, 0)));
            assertFalse(isGranted(0));
        } finally {
            server.stop(0);
        }
    }

    private static Node guest() {
        return new Node(
                "guest",
                GUEST,
                "host",
                "127.0.0.1:1",
                1,
                1 << 20,
                List.of(),
                new PoolInfo(1 << 20, 4096, Optional.empty()),
                List.of(TransportKind.TCP),
                Optional.of(LinkKeys.generate("guest", GUEST, Optional.empty()).published()),
                NodeStatus.ACTIVE,
                Optional.empty(),
                Instant.EPOCH,
                Optional.empty());
    }

    private static byte[] problem(int status) {
        return ("{\"type\":\"urn:farpage:problem:no\",\"title\":\"no\",\"status\":%d,\"detail\":\"no\","
                        + "\"instance\":\"/x\"}")
                .formatted(status)
                .getBytes(StandardCharsets.UTF_8);
    }

    private static void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
        exchange.getResponseHeaders()
                .add("Content-Type", status == 200 ? "application/json" : "application/problem+json");
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private Extent[] extents(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> extent(i, 1, (long) i * PAGE))
                .toArray(Extent[]::new);
    }
}
