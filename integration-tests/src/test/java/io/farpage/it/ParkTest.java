package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.EventKind;
import io.farpage.guest.vmm.GuestMemory;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.KeeperProcess;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.ProcFs;
import io.farpage.it.harness.ShadowedRam;
import io.farpage.it.harness.Soak;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** A guest is parked: its memory leaves for its homes and comes back, whatever happens meanwhile. */
@NeedsUserfaultfd
@Tag("processes")
class ParkTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 8192;
    private static final int KEPT_PAGES = 256;
    private static final long BYTES = (long) PAGES * PAGE;
    private static final long NO_LIMIT = 2 * BYTES;
    private static final Map<String, String> POOLS = Map.of("pool.exported", "48MiB", "shard.count", "2");

    @TempDir
    private Path directory = Path.of("");

    private Optional<Cluster> cluster = Optional.empty();

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster.orElseThrow());

    @AfterEach
    void end() {
        cluster.ifPresent(Cluster::close);
    }

    private Cluster cluster() {
        return cluster.orElseThrow();
    }

    private Guests start(Map<String, String> settingsOfA) {
        Cluster started = Cluster.start();
        cluster = Optional.of(started);
        Map<String, String> settings = new HashMap<>(POOLS);
        settings.putAll(settingsOfA);
        started.launchAgent("a", settings);
        started.openAgent("b", POOLS);
        started.awaitAllLinks();
        return new Guests(started, "a", "b");
    }

    private Path socket() {
        return directory.resolve("guest");
    }

    private Answer park(String body) {
        return cluster().agent("a").rest().sendJson("POST", "/api/v1/spaces/vm/guest/park", body);
    }

    private Answer unpark(String body) {
        return cluster().agent("a").rest().sendJson("POST", "/api/v1/spaces/vm/guest/unpark", body);
    }

    private static void write(PagedRam ram) {
        for (int page = 0; page < PAGES; page++) {
            ram.write(page, Pages.of(1, page, PAGE));
        }
    }

    private static void check(PagedRam ram) {
        for (int page = 0; page < PAGES; page++) {
            assertArrayEquals(Pages.of(1, page, PAGE), ram.read(page), "page " + page);
        }
    }

    private static void awaitResident(Guests guests, int pages) {
        await("the pages that were resident", Deadlines.LONG)
                .until(() -> guests.status("vm").get("residentPages").asInt() == pages);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void shouldMoveMemoryHomeAndBringItBack(int pagers) {
        Guests guests = start(Map.of());
        guests.attach("vm", socket(), BYTES, NO_LIMIT);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES, pagers)) {
            guests.awaitAttached("vm");
            write(ram);
            JsonNode parked = park("{}").expect(200).json();
            assertTrue(parked.get("complete").asBoolean(), parked.toString());
            assertEquals("", parked.get("detail").asString());
            assertTrue(parked.get("residentBytes").asLong() <= KEPT_PAGES * PAGE, parked.toString());
            assertTrue(parked.get("leftBytes").asLong() >= (PAGES - KEPT_PAGES) * PAGE, parked.toString());
            Path file = ProcFs.memoryFile(ProcessHandle.current().pid());
            assertTrue(ProcFs.pages(file).orElseThrow() <= KEPT_PAGES, "the file of the memory is as empty");
            JsonNode status = guests.status("vm");
            assertEquals(KEPT_PAGES, status.get("parked").get("keepPages").asInt());
            assertEquals(PAGES, status.get("parked").get("pagesBefore").asInt());
            assertEquals(List.of(EventKind.GUEST_PARKED), parkings());

            assertTrue(unpark("{}").expect(200).json().path("parked").isMissingNode());
            awaitResident(guests, PAGES);
            long fetched = guests.status("vm").get("fetchedFaults").asLong();
            check(ram);
            assertEquals(fetched, guests.status("vm").get("fetchedFaults").asLong(), "all of them were resident");
            assertEquals(List.of(EventKind.GUEST_PARKED, EventKind.GUEST_UNPARKED), parkings());
        }
        guests.awaitEnded("vm");
    }

    /** The coordinator learns of them by the reports of figures. */
    private List<EventKind> parkings() {
        Duration wait = Duration.ofSeconds(6);
        return await("the events", wait.plus(Deadlines.LONG))
                .until(
                        () -> cluster().client().events(0, Duration.ZERO).events().stream()
                                .map(event -> event.kind())
                                .filter(kind -> kind == EventKind.GUEST_PARKED || kind == EventKind.GUEST_UNPARKED)
                                .toList(),
                        found -> found.size() == (isParked() ? 1 : 2));
    }

    private boolean isParked() {
        return cluster()
                .agent("a")
                .rest()
                .get("/api/v1/spaces/vm")
                .expect(200)
                .json()
                .has("parked");
    }

    @Test
    void shouldUnparkByItselfWhenTheGuestRunsAgain() {
        Guests guests = start(Map.of());
        guests.attach("vm", socket(), BYTES, NO_LIMIT);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            guests.awaitAttached("vm");
            write(ram);
            assertTrue(park("{}").expect(200).json().get("complete").asBoolean());
            check(ram);
            await("its end of parking", Deadlines.LONG)
                    .until(() -> !guests.status("vm").has("parked"));
            awaitResident(guests, PAGES);
        }
    }

    @Test
    void shouldStayParkedWhenItsAgentIsKilledAndStartedAgain() throws Exception {
        try (KeeperProcess keeper = KeeperProcess.start("a", directory.resolve("a.keeper"))) {
            Guests guests = start(keeper.settings());
            guests.attach("vm", socket(), BYTES, NO_LIMIT);
            try (PagedRam ram = PagedRam.handOver(socket(), PAGES, 2)) {
                guests.awaitAttached("vm");
                write(ram);
                assertTrue(park("{\"keepBytes\": 524288}")
                        .expect(200)
                        .json()
                        .get("complete")
                        .asBoolean());
                JsonNode before = guests.status("vm").get("parked");
                String incarnation = cluster().incarnation("a");
                cluster().process("a").process().kill();
                Map<String, String> settings = new HashMap<>(POOLS);
                settings.putAll(keeper.settings());
                cluster().startAgent("a", settings);
                cluster().awaitActive("a", incarnation);
                awaitAdopted();
                JsonNode status = guests.awaitAttached("vm");
                assertEquals(before, status.get("parked"));
                assertTrue(status.get("residentPages").asInt() <= 128, status.toString());
                unpark("{}").expect(200);
                awaitResident(guests, PAGES);
                check(ram);
            }
        }
    }

    private void awaitAdopted() {
        await("the guest's adoption", Deadlines.LONG)
                .until(() ->
                        cluster().agent("a").rest().get("/api/v1/spaces/vm").status() == 200);
    }

    @Test
    void shouldSayWhyAGuestIsNotParked() {
        Guests guests = start(Map.of());
        assertEquals(404, park("{}").status());
        guests.attach("vm", socket(), BYTES, NO_LIMIT);
        assertRefused(409, "has no guest whose VMM runs", park("{}"));
        try (PagedRam _ = PagedRam.handOver(socket(), GuestMemory.Backing.ANONYMOUS, PAGES, 1)) {
            guests.awaitAttached("vm");
            assertRefused(409, "its VMM handed over no memory file", park("{}"));
        }
        guests.awaitEnded("vm");
        guests.attach("vm", socket(), BYTES, NO_LIMIT);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES, 2)) {
            guests.awaitAttached("vm");
            write(ram);
            assertRefused(
                    400, "keepBytes is 262144; the least for this guest is 524288", park("{\"keepBytes\": 262144}"));
            assertRefused(400, "deadlineMillis is 20001; give 0 to 20000", park("{\"deadlineMillis\": 20001}"));
            assertRefused(400, "a limit of 1 resident pages is too low", unpark("{\"localBytes\": 4096}"));
            assertFalse(isParked());
            JsonNode begun = park("{\"deadlineMillis\": 0}").expect(200).json();
            assertFalse(begun.get("complete").asBoolean());
            assertTrue(
                    begun.get("detail").asString().contains("leave as fast as their homes answer"), begun.toString());
        }
    }

    private static void assertRefused(int status, String why, Answer answer) {
        assertEquals(status, answer.status(), answer.toString());
        assertTrue(answer.problem().detail().contains(why), answer.toString());
    }

    @Test
    void shouldParkByCommand() {
        Guests guests = start(Map.of());
        String agent = cluster().agent("a").rest().base().toString();
        guests.attach("vm", socket(), BYTES, NO_LIMIT);
        try (PagedRam ram = PagedRam.handOver(socket(), PAGES)) {
            guests.awaitAttached("vm");
            write(ram);
            Command park = Command.agent("park", "--agent=" + agent, "--space=vm", "--keep=512KiB")
                    .done();
            assertTrue(park.out().contains("have left for their homes"), park.out());
            String list = Command.agent("guests", "--agent=" + agent).done().out();
            assertTrue(list.contains(" parked "), list);
            Command.agent("unpark", "--agent=" + agent, "--space=vm", "--local=16MiB")
                    .done();
            await("half of the pages", Deadlines.LONG)
                    .until(() -> guests.status("vm").get("residentPages").asInt() > PAGES / 3);
            assertEquals(PAGES / 2, guests.status("vm").get("localLimitPages").asInt());
            Command refused = Command.agent("park", "--agent=" + agent, "--space=vm", "--keep=4KiB");
            assertEquals(1, refused.code());
            assertTrue(refused.err().contains("keepBytes is 4096; the least"), refused.err());
        }
    }

    @Test
    void shouldShowNoWrongPageWhenParkedAFewTimes() throws Exception {
        parkOften(10, 1);
    }

    @Test
    @Tag("soak")
    void shouldShowNoWrongPageWhenParkedOften() throws Exception {
        parkOften(Soak.part(1000), Soak.part(20));
    }

    /** A guest that faults all the time is unparked by its faults at once, so that parking and faults overlap. */
    private void parkOften(int times, int kills) throws Exception {
        SplittableRandom random = new SplittableRandom(Long.getLong("farpage.seed", System.nanoTime()));
        try (KeeperProcess keeper = KeeperProcess.start("a", directory.resolve("a.keeper"))) {
            Map<String, String> settings = new HashMap<>(keeper.settings());
            settings.put("fetch.deadline", "60s");
            Guests guests = start(settings);
            settings.putAll(POOLS);
            guests.attach("vm", socket(), 1024 * PAGE, 512 * PAGE);
            try (ShadowedRam ram = ShadowedRam.start(socket(), 1024, 2, random.nextLong())) {
                ram.forgetUserfaultfd();
                guests.awaitAttached("vm");
                for (int i = 0; i < times; i++) {
                    park("{\"keepBytes\": 262144, \"deadlineMillis\": %d}".formatted(random.nextInt(100)));
                    if (random.nextInt(times / kills) == 0) {
                        String incarnation = cluster().incarnation("a");
                        cluster().process("a").process().kill();
                        long killed = System.nanoTime();
                        cluster().startAgent("a", settings);
                        cluster().awaitActive("a", incarnation);
                        awaitAdopted();
                        ram.awaitProgress(killed);
                    }
                    if (random.nextBoolean()) {
                        unpark("{}");
                    }
                    assertEquals(List.of(), ram.mismatches());
                }
                ram.stop();
                assertEquals(List.of(), ram.mismatches());
            }
            JsonNode ended = guests.awaitEnded("vm");
            assertEquals(0, ended.get("lostPages").asInt(), ended::toString);
        }
    }
}
