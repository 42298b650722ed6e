package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Priority;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.node.PageAgent;
import io.farpage.config.Config;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.header.PoolHeaderException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole agents in this process, each with a soft device that poses as an RDMA device beside its TCP fallback. */
@Tag("portable")
class LinkLifeTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(40);
    private static final int PAGE = 4096;

    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private final FaultyProvider rdma = new FaultyProvider();

    @TempDir
    private Path directory;

    private TestCoordinator coordinator;

    @BeforeEach
    void start() {
        coordinator = new TestCoordinator(directory);
        open.push(coordinator);
    }

    @AfterEach
    void end() throws Exception {
        rdma.refusals.set(0);
        while (!open.isEmpty()) {
            open.pop().close();
        }
        assertEquals(0, rdma.open.get(), "every queue pair is destroyed");
    }

    private PageAgent agent(String node, Map<String, String> more) throws Exception {
        Map<String, String> settings = new HashMap<>(Map.of(
                "node.id", node,
                "api.listen", "127.0.0.1:0",
                "coordinator.url", coordinator.url().toString(),
                "pool.exported", "2MiB",
                "pool.staging", "4MiB",
                "pool.hugepages", "off",
                "shard.idle", "block",
                "link.grace", "100ms",
                "link.rdma_pause", "200ms",
                "fetch.deadline", "30s"));
        // A queue pair that cannot reach its peer fails after about a quarter of a second.
        settings.put("rdma.timeout", "14");
        settings.put("api.socket", directory.resolve(node + ".sock").toString());
        settings.put("rdma.retry_cnt", "0");
        settings.putAll(more);
        Config config = AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), settings);
        PageAgent agent = PageAgent.open(config, new Providers(rdma, Providers.tcp(config)), reason -> {});
        open.push(agent);
        return agent;
    }

    private static LinkStatus status(PageAgent agent, String peer) {
        return agent.links().status().stream()
                .filter(link -> link.peer().equals(peer))
                .findFirst()
                .orElse(new LinkStatus(peer, "none", "", "", "", List.of()));
    }

    private static void awaitLink(PageAgent agent, String peer, String transport) {
        Deadlines.await("a link of " + agent.node() + " to " + peer + " over " + transport, TIMEOUT)
                .untilAsserted(() -> {
                    LinkStatus now = status(agent, peer);
                    assertEquals("up " + transport, now.state() + " " + now.transport(), now.detail());
                });
    }

    @Test
    void shouldSwitchToRdmaWithoutAFailedTransferWhenATrialSucceeds() throws Exception {
        rdma.blocked = true;
        PageAgent a = agent("a", Map.of());
        PageAgent b = agent("b", Map.of());
        awaitLink(a, "b", "tcp");
        awaitLink(b, "a", "tcp");
        Reader fromB = Reader.on(a, b);
        Reader fromA = Reader.on(b, a);
        int before = rdma.blockedAt.size();
        Deadlines.await("trials that fail", TIMEOUT).until(() -> rdma.blockedAt.size() >= before + 4);
        assertEquals("up", status(a, "b").state());
        assertEquals("up", status(b, "a").state());
        Deadlines.await("the reason why a's trial failed", TIMEOUT)
                .until(() -> status(a, "b").detail().startsWith("rdma:"));
        fromB.requireFlowing();
        fromA.requireFlowing();

        rdma.blocked = false;
        awaitLink(a, "b", "rdma");
        awaitLink(b, "a", "rdma");
        fromB.requireFlowing();
        fromA.requireFlowing();
        assertEquals(FaultyProvider.DEVICE, status(a, "b").device());
        Deadlines.await("the old queue pairs are gone", TIMEOUT).untilAsserted(() -> assertEquals(2, rdma.open.get()));
        fromB.requireUndisturbed();
        fromA.requireUndisturbed();
    }

    @Test
    @Tag("soak")
    void shouldPauseLongerAfterEachTrialThatFails() throws Exception {
        rdma.blocked = true;
        PageAgent a = agent("a", Map.of("link.rdma_pause", "400ms"));
        agent("b", Map.of("link.rdma_pause", "400ms"));
        awaitLink(a, "b", "tcp");
        long start = System.nanoTime();
        Deadlines.pass(Duration.ofSeconds(10));
        long trials = rdma.blockedAt.stream().filter(at -> at - start > 0).count() / 2;
        // After 0.4, 0.8, 1.6, 3.2 s and so on, on either side; without the doubling it would be forty.
        assertTrue(trials <= 12, trials + " trials in ten seconds");
        assertEquals("up", status(a, "b").state());
    }

    @Test
    void shouldUseRdmaUnderACoordinatorOfAnEarlierRelease() throws Exception {
        EarlierCoordinator earlier = new EarlierCoordinator(coordinator.url());
        open.push(earlier);
        Map<String, String> url = Map.of("coordinator.url", earlier.url().toString());
        PageAgent a = agent("a", url);
        PageAgent b = agent("b", url);
        awaitLink(a, "b", "rdma");
        awaitLink(b, "a", "rdma");
        assertTrue(earlier.refused.get() > 0, "it refuses what it does not know");
    }

    @Test
    void shouldOnlyFailTheLinkWhenAQueuePairCannotBeDestroyed() throws Exception {
        PageAgent a = agent("a", Map.of());
        PageAgent b = agent("b", Map.of());
        awaitLink(a, "b", "rdma");
        awaitLink(b, "a", "rdma");
        Reader reader = Reader.on(a, b);
        reader.requireFlowing();
        rdma.refusals.set(4);
        rdma.postFails = true;
        Deadlines.await("the refusals", TIMEOUT).until(() -> rdma.refusals.get() == 0);
        Deadlines.await("a link", TIMEOUT).until(() -> status(a, "b").state().equals("up"));
        reader.requireFlowing();
        reader.requireNoFailure();
    }

    @Test
    void shouldMakeACompletionQueueThatFailsAnewAndLoseNoTransfer() throws Exception {
        PageAgent a = agent("a", Map.of());
        PageAgent b = agent("b", Map.of());
        awaitLink(a, "b", "rdma");
        Reader reader = Reader.on(a, b);
        reader.requireFlowing();
        rdma.pollFails = true;
        Deadlines.await("the failure", TIMEOUT).until(() -> !rdma.pollFails);
        reader.requireFlowing();
        awaitLink(a, "b", "rdma");
        reader.requireFlowing();
        reader.requireNoFailure();
    }

    @Test
    void shouldReadOverTcpWhileTheHomeCannotRegisterMemoryForRdma() throws Exception {
        PageAgent a = agent("a", Map.of());
        PageAgent b = agent("b", Map.of());
        awaitLink(a, "b", "rdma");
        rdma.exportsFail = true;
        Reader reader = Reader.on(a, b);
        reader.requireFlowing();
        awaitLink(a, "b", "tcp");
        assertEquals(Set.of("b"), a.links().withoutKeys());

        rdma.exportsFail = false;
        a.coordinator().createSpace(new SpaceRequest("another", PAGE, OptionalInt.of(PAGE), Optional.of(List.of("b"))));
        assertTrue(a.spaces().use("another").isPresent());
        awaitLink(a, "b", "rdma");
        assertEquals(Set.of(), a.links().withoutKeys());
        reader.requireFlowing();
    }

    @Test
    void shouldKeepThePoolMappedWhenAQueuePairIsLeftBehind() throws Exception {
        PageAgent a = agent("a", Map.of());
        PageAgent b = agent("b", Map.of());
        awaitLink(a, "b", "rdma");
        awaitLink(b, "a", "rdma");
        rdma.refusals.set(Integer.MAX_VALUE);
        open.remove(a);
        a.close();
        assertEquals(0, a.pool().header().get(java.lang.foreign.ValueLayout.JAVA_BYTE, 4095), "it can be read");
        rdma.refusals.set(0);
        rdma.closeAll();
    }

    @Test
    void shouldCountOnlyPresentPeersAgainstTheMaximum() throws Exception {
        Map<String, String> one = Map.of("link.max", "1", "transport.mode", "tcp");
        PageAgent a = agent("a", one);
        for (String next : List.of("b", "c", "d")) {
            PageAgent peer = agent(next, Map.of("transport.mode", "tcp"));
            awaitLink(a, next, "tcp");
            PageAgent extra = agent(next + "2", Map.of("transport.mode", "tcp"));
            Deadlines.await("a refusal", TIMEOUT)
                    .until(() -> status(a, next + "2").detail().contains("link.max of 1 links is reached"));
            assertEquals("up", status(a, next).state());
            for (PageAgent leaving : List.of(extra, peer)) {
                open.remove(leaving);
                leaving.close();
            }
        }
    }

    /** Reads a page of a node over and over through another, and notes what goes wrong. */
    private static final class Reader implements DutyCycle {
        private final PeerLink home;
        private final long incarnation;
        private final long offset;
        private final long staging;
        private final Fetcher fetcher;
        private final AtomicLong reads = new AtomicLong();
        private volatile String wrong = "";

        private static PoolHeader header(PageAgent of) {
            try {
                return PoolHeader.readFrom(of.pool().header());
            } catch (PoolHeaderException e) {
                throw new IllegalStateException(e);
            }
        }

        private Reader(PageAgent by, PageAgent of, long offset, Fetcher fetcher) {
            this.home = by.links().link(of.node(), 0);
            this.incarnation = header(of).incarnation();
            this.offset = offset;
            this.staging = by.pool().stagingAddress()
                    + by.pool().offset(by.pool().stagingFrames().allocateRun(1));
            this.fetcher = fetcher;
        }

        static Reader on(PageAgent by, PageAgent of) throws Exception {
            CompletableFuture<Reader> made = new CompletableFuture<>();
            String space = "of-" + of.node() + "-" + of.pool().exported().address();
            of.coordinator()
                    .createSpace(
                            new SpaceRequest(space, 16 * PAGE, OptionalInt.of(PAGE), Optional.of(List.of(of.node()))));
            // The use never ends, so that the home grants access for as long as the agents live.
            SpaceMap map = by.spaces().use(space).orElseThrow().map();
            long offset = map.offset(0, 0);
            var loop = by.shards().getFirst();
            loop.submit(new ShardCommand.Run(() -> {
                Reader reader = new Reader(by, of, offset, loop.shard().newFetcher(1, TimeUnit.SECONDS.toNanos(60)));
                made.complete(reader);
                loop.submit(new ShardCommand.AddCycle(reader));
            }));
            return Deadlines.get("the reader", Deadlines.SHORT, made);
        }

        @Override
        public int doWork() {
            for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
                FetchStatus status = fetcher.status(slot);
                if (status == FetchStatus.OK) {
                    reads.incrementAndGet();
                } else {
                    wrong = status.toString();
                }
                fetcher.release(slot);
            }
            return fetcher.read(Priority.DEMAND, home, incarnation, offset, PAGE, staging) == Fetcher.NONE ? 0 : 1;
        }

        void requireFlowing() {
            long before = reads.get();
            Deadlines.await("reads", TIMEOUT).until(() -> reads.get() > before + 20);
            requireNoFailure();
        }

        void requireNoFailure() {
            assertEquals("", wrong);
        }

        /** No transfer was ever taken back from a queue pair that broke. */
        void requireUndisturbed() {
            requireNoFailure();
            assertEquals(0, fetcher.replays().get(), "transfers that were taken back from a link");
        }
    }
}
