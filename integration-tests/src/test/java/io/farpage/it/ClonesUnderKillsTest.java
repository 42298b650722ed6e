package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.ComparedClone;
import io.farpage.it.harness.CountedGuest;
import io.farpage.it.harness.CountedPages;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.Rest;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * A guest on node a writes all the time, a snapshot is made of it, and clones run on nodes a and e. Meanwhile both
 * agents are killed and started again, and one of three homes is killed and begins anew. Each clone, in its first guest
 * and in its next one, and the source have the right pages.
 */
@NeedsUserfaultfd
@Tag("processes")
class ClonesUnderKillsTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 4 * 512;
    private static final int LOCAL_PAGES = 128;
    /** Some pages were written in three rounds, some in two. */
    private static final long STORES_BEFORE = PAGES * 5 / 2;

    private static final int SHOWN = 20;
    private static final List<String> HOSTS = List.of("a", "e");
    private static final Map<String, String> HOME = Map.of("pool.exported", "512MiB");

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    private final Map<String, KeeperProcess> keepers = new HashMap<>();
    private final Map<String, Rest> agents = new ConcurrentHashMap<>();
    private final CountedPages pages = new CountedPages(Long.getLong("farpage.seed", System.nanoTime()), PAGES);

    @BeforeEach
    void start() throws Exception {
        System.out.println("seed %d (repeat with -Dfarpage.seed=%d)".formatted(pages.seed(), pages.seed()));
        cluster = Cluster.startProcess();
        for (String host : HOSTS) {
            keepers.put(host, KeeperProcess.start(host, directory.resolve(host + ".keeper")));
            cluster.launchAgent(host, settings(host));
        }
        for (String home : List.of("b", "c", "d")) {
            cluster.launchAgent(home, HOME);
        }
        cluster.awaitAllLinks();
        HOSTS.forEach(host -> agents.put(host, cluster.agent(host).rest()));
        cluster.client()
                .createSpace(new SpaceRequest(
                                "vm", (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(List.of("b", "c")))
                        .withReplicas(2));
    }

    @AfterEach
    void end() {
        cluster.close();
        keepers.values().forEach(KeeperProcess::close);
    }

    private Map<String, String> settings(String host) {
        Map<String, String> settings = new HashMap<>(Map.of("pool.exported", "2MiB"));
        settings.putAll(Optional.ofNullable(keepers.get(host)).orElseThrow().settings());
        return settings;
    }

    private Rest latestAgent(String host) {
        return Optional.ofNullable(agents.get(host)).orElseThrow();
    }

    private CountedGuest startSource(Guests guests) {
        Path socket = directory.resolve("vm");
        guests.tryAttach("vm", "{\"socket\": \"%s\", \"localBytes\": %d}".formatted(socket, LOCAL_PAGES * PAGE))
                .expect(200);
        return CountedGuest.start(socket, pages);
    }

    /** Returns how many stores the source had made at its pause. */
    private long makeSnapshot(CountedGuest source) throws InterruptedException {
        String path = "/api/v1/spaces/vm/guest/snapshot";
        Rest agent = cluster.agent("a").rest();
        long stores = source.whilePaused(
                () -> agent.sendJson("POST", path, "{\"name\": \"moment\"}").expect(200));
        await("the snapshot is made or has failed", Deadlines.LONG)
                .until(() -> !state(agent.get(path).expect(200).json()).equals("saving"));
        assertEquals("made", state(agent.get(path).json()));
        return stores;
    }

    private static String state(JsonNode snapshot) {
        return snapshot.get("state").asString();
    }

    private void killAndStartAgain(String host) throws Exception {
        String before = cluster.incarnation(host);
        cluster.process(host).process().kill();
        agents.put(host, cluster.startAgent(host, settings(host)).rest());
        cluster.awaitActive(host, before);
    }

    /** Whether each page that is at a home is at two. */
    private boolean isWhole() throws CoordinatorException {
        for (Space space : cluster.client().spaces()) {
            Optional<SpaceExtents> extents = cluster.client().extents(space.name());
            for (Extent extent : extents.map(SpaceExtents::extents).orElse(List.of())) {
                if (extent.joining().isPresent() || (extent.isAllocated() && extent.isShortOf(2))) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Waits until it has cut off the agents that were killed: their successors need that. */
    private void killHome(String home) {
        await(home + " has cut off the agents that were killed", Deadlines.LONG)
                .ignoreExceptions()
                .until(() -> {
                    for (JsonNode fence : cluster.coordinator()
                            .rest()
                            .get("/api/v1/nodes/" + home + "/hosted")
                            .expect(200)
                            .json()
                            .get("fences")) {
                        if (!fence.get("acknowledged").asBoolean()) {
                            return false;
                        }
                    }
                    return true;
                });
        await("each extent has two homes", Deadlines.LONG.multipliedBy(2))
                .ignoreExceptions()
                .until(this::isWhole);
        cluster.process(home).process().kill();
    }

    private static void awaitBegun(List<ComparedClone> clones, int count) {
        await(count + " clones have begun", Deadlines.LONG.multipliedBy(8))
                .until(() -> clones.stream().filter(ComparedClone::hasBegun).count() >= count);
    }

    /** The source goes on: it stores to each of its pages at least once. */
    private static void awaitRound(CountedGuest source) {
        long goal = source.stores() + PAGES;
        await("the source goes on", Deadlines.LONG.multipliedBy(2)).until(() -> source.stores() >= goal);
    }

    private List<String> run(ComparedClone clone, int number) throws CoordinatorException {
        List<String> wrong =
                new ArrayList<>(clone.run(HOSTS.get(number % HOSTS.size()), HOSTS.get((number + 1) % HOSTS.size())));
        cluster.client()
                .space(clone.name())
                .orElseThrow()
                .torn()
                .ifPresent(torn -> wrong.add(clone.name() + " is torn: " + torn.reason()));
        await("the end of " + clone.name(), Deadlines.LONG).ignoreExceptions().until(() -> {
            cluster.client().deleteSpace(clone.name());
            return true;
        });
        return wrong;
    }

    private void check(int count, int atOnce) throws Exception {
        long began = System.nanoTime();
        Guests guests = new Guests(cluster, "a", "b");
        List<String> wrong = new ArrayList<>();
        List<ComparedClone> clones = new ArrayList<>();
        CountedGuest source = startSource(guests);
        await("the source's stores", Deadlines.LONG.multipliedBy(2)).until(() -> source.stores() >= STORES_BEFORE);
        long stores = makeSnapshot(source);
        for (int i = 0; i < count; i++) {
            String name = "clone-" + i;
            cluster.client().makeClone("moment", new CloneRequest(name));
            clones.add(new ComparedClone(name, pages, stores, LOCAL_PAGES, directory, this::latestAgent));
        }
        List<Future<List<String>>> results = new ArrayList<>();
        ExecutorService machines = Executors.newFixedThreadPool(
                atOnce, Thread.ofPlatform().daemon().name("clone-", 0).factory());
        try {
            for (int i = 0; i < count; i++) {
                int number = i;
                results.add(machines.submit(() -> run(clones.get(number), number)));
            }
            awaitBegun(clones, Math.ceilDiv(count, 5));
            killAndStartAgain("a");
            awaitRound(source);
            awaitBegun(clones, Math.ceilDiv(2 * count, 5));
            killAndStartAgain("e");
            awaitBegun(clones, Math.ceilDiv(3 * count, 5));
            killHome("b");
            awaitRound(source);
            awaitBegun(clones, Math.ceilDiv(4 * count, 5));
            cluster.startAgent("b", HOME);
            for (Future<List<String>> result : results) {
                wrong.addAll(Deadlines.get("the end of a clone", Deadlines.LONG.multipliedBy(8), result));
            }
        } finally {
            // Does not wait: a thread that waits for a page goes on when the page comes.
            machines.shutdownNow();
        }
        awaitRound(source);
        wrong.addAll(source.stopAndCompareAll(Deadlines.LONG));
        source.close();
        var ended = guests.awaitEnded("vm");
        assertEquals(0, ended.get("lostPages").asInt(), ended::toString);
        assertTrue(cluster.client().space("vm").orElseThrow().torn().isEmpty());
        long compared = source.compared()
                + clones.stream().mapToLong(ComparedClone::compared).sum();
        System.out.printf(
                "%d clones, %d at once: %d pages compared, %d wrong; %d pages of clones evicted, %d stores of the"
                        + " source; %d clones attached by force; %d s%n",
                count,
                atOnce,
                compared,
                wrong.size(),
                clones.stream().mapToLong(ComparedClone::evictions).sum(),
                source.stores(),
                clones.stream().filter(ComparedClone::wasForced).count(),
                (System.nanoTime() - began) / 1_000_000_000);
        assertEquals(List.of(), wrong.stream().limit(SHOWN).toList());
        assertTrue(compared >= 3L * count * PAGES + PAGES, "pages compared: " + compared);
    }

    @Test
    void shouldShowNoWrongPageWhenAgentsAndHomeAreKilled() throws Exception {
        check(10, 5);
    }

    @Test
    @Tag("soak")
    @Tag("long")
    @Timeout(3600)
    void shouldShowNoWrongPageInHundredClones() throws Exception {
        check(Soak.part(100), 20);
    }
}
