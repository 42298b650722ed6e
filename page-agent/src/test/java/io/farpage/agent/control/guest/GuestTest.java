package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.agent.control.pins.PinStatus;
import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.agent.control.space.Claim;
import io.farpage.agent.control.space.SpaceInUseException;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.control.trace.TracedPager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PageMap;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Sockets;
import io.farpage.linux.UnixSockets;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A guest whose life runs on the test's thread, with a clock that stands still unless it is moved. Space, coordinator
 * and handoff socket are real; the pagers are scripted: each wait for their end has the next answer of the script.
 */
final class GuestTest {
    private static final Incarnation INCARNATION = new Incarnation(7);
    private static final long BYTES = 1 << 20;
    private static final long POOL_BYTES = 64 * BYTES;
    private static final String NO_MEMORY = "no native memory";
    private static final int PID = 4711;
    private static final Duration PARK_AFTER = Duration.ofSeconds(30);

    private static int spacesMade;

    @TempDir
    private static Path store;

    private static TestCoordinator coordinator;

    @TempDir
    private Path directory;

    private final Errno errno = Errno.create();
    private final List<Integer> vmms = new ArrayList<>();
    private final List<String> events = new ArrayList<>();
    private final ScriptedPaging paging = new ScriptedPaging();
    private final Deque<String> refusals = new ArrayDeque<>();
    private long now;
    private Spaces spaces;
    private SpaceUse used;
    private long space;
    private Guest guest;

    @BeforeAll
    static void startCoordinator() throws Exception {
        coordinator = new TestCoordinator(store);
        coordinator.register("a", INCARNATION, POOL_BYTES);
    }

    @AfterAll
    static void stopCoordinator() {
        coordinator.close();
    }

    @BeforeEach
    void attachGuest() throws Exception {
        space = coordinator
                .client()
                .createSpace(
                        new SpaceRequest("vm" + ++spacesMade, BYTES, OptionalInt.of(4096), Optional.of(List.of("a"))))
                .id();
        coordinator
                .client()
                .acknowledgeHosted(
                        "a",
                        new HostedAck(
                                INCARNATION, coordinator.client().hosted("a").revision(), List.of(), List.of()));
        spaces = new Spaces(coordinator.client(), "a", INCARNATION);
        used = use();
        guest = new Guest(
                used,
                HandoffSocket.listen(
                        directory.resolve("socket"), SocketAccess.of("socketOwner", 0600, Optional.empty())),
                this::admit,
                new RecordingListener(),
                PARK_AFTER,
                () -> now);
    }

    @AfterEach
    void close() {
        vmms.forEach(fd -> FileIo.close(errno, fd));
        spaces.close();
    }

    private SpaceUse use() throws CoordinatorException {
        return spaces.useExclusively(space, Claim.PLAIN).orElseThrow();
    }

    /** Deletes the space under its guest; returns when the agent knows. */
    private void deleteSpace() {
        URI forced = URI.create("%s/api/v1/spaces/%d?force=true".formatted(coordinator.url(), space));
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<String> answer =
                    client.send(HttpRequest.newBuilder(forced).DELETE().build(), HttpResponse.BodyHandlers.ofString());
            assertEquals(204, answer.statusCode(), answer.body());
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
        spaces.start((_, _) -> true);
        spaces.refresh();
        Deadlines.await("the end of the use", Deadlines.SHORT).until(used::isRevoked);
    }

    private Paging admit(HandoffConnection.Message message) throws HandoffException {
        assertEquals("[]", message.json());
        assertEquals("waiting", guest.status().state());
        assertFalse(guest.stopWaiting(), "a guest whose handoff is being checked is not detached");
        String refusal = refusals.poll();
        if (NO_MEMORY.equals(refusal)) {
            // More than any JVM permits.
            Arena.ofAuto().allocate(1L << 60);
        }
        if (refusal != null) {
            throw new HandoffException(refusal);
        }
        return paging;
    }

    /** Connects as a VMM and sends a handoff, which the guest accepts when it runs. */
    private int handOff() {
        int fd = Sockets.openUnix(errno);
        vmms.add(fd);
        assertEquals(0, UnixSockets.connect(errno, fd, directory.resolve("socket")));
        UnixSockets.send(errno, fd, "[]".getBytes(StandardCharsets.UTF_8), List.of());
        return fd;
    }

    /** What the agent answered to a VMM until it closed the connection. */
    private String answer(int vmm) {
        MemorySegment bytes = Arena.ofAuto().allocate(256);
        long count = UnixSockets.receive(errno, vmm, bytes, 1).bytes();
        return new String(bytes.asSlice(0, count).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    private Optional<String> torn() {
        return spaces.held().attachments().getFirst().torn();
    }

    private static PagerEnd ended(boolean saved) {
        return new PagerEnd("the VMM has ended", saved);
    }

    @Test
    void shouldServeTheVmmUntilItsPagersEndAndThenReleaseTheSpace() throws Exception {
        handOff();
        paging.script.add(() -> {
            assertEquals("attached", guest.status().state());
            assertEquals(Optional.of(PID), guest.status().pid());
            assertTrue(guest.isAttached());
            assertThrows(SpaceInUseException.class, () -> spaces.use(space), "the space is the guest's alone");
            throw new TimeoutException();
        });
        paging.script.add(() -> ended(true));
        guest.run();
        assertEquals(
                List.of("probe", "presence asked for", "pagers removed", "presence map kept", "space released"),
                events);
        assertEquals("ended", guest.status().state());
        assertEquals("the VMM has ended", guest.status().detail());
        assertEquals(Optional.of(PID), guest.status().pid());
        assertEquals(Optional.empty(), torn());
        assertFalse(paging.isForgotten, "a successor detaches if this process is killed now");
        use().close();
        assertTrue(paging.isForgotten, "the space was detached before it was attached again");
    }

    @Test
    void shouldTearTheSpaceWhenTheFlushFailed() {
        handOff();
        paging.script.add(() -> ended(false));
        guest.run();
        assertEquals(Optional.of("the VMM has ended"), torn());
        assertEquals(
                "the VMM has ended; what its memory held is not at its homes",
                guest.status().detail());
        assertEquals(List.of("pagers removed", "space released"), events);
    }

    @Test
    void shouldNotTearTheSpaceWhenNoPageOfTheGuestCouldBeEvicted() {
        handOff();
        paging.evictable = false;
        paging.script.add(() -> ended(false));
        guest.run();
        assertEquals(Optional.empty(), torn());
        assertTrue(events.contains("presence map kept"), "the homes have what they had");
    }

    @Test
    void shouldTearTheSpaceAndEndWhenServingThrows() {
        handOff();
        paging.script.add(() -> {
            throw new IllegalStateException("a fault");
        });
        guest.run();
        assertEquals(Optional.of("serving its guest failed: java.lang.IllegalStateException: a fault"), torn());
        assertEquals("ended", guest.status().state());
        assertEquals(List.of("pagers removed", "space released"), events);
    }

    @Test
    void shouldStopWhenItIsInterruptedWhileItWaitsForAShard() {
        handOff();
        paging.script.add(() -> {
            guest.requestStop();
            throw new IllegalStateException("interrupted while waiting for the shard", new InterruptedException());
        });
        guest.run();
        assertEquals(Optional.of("the agent is shutting down while its VMM runs; the VMM will stall"), torn());
        assertEquals(List.of("pagers removed", "space released"), events);
    }

    @Test
    void shouldNotBeInterruptedWhileItRemovesThePagersThatHaveEnded() throws Exception {
        handOff();
        paging.script.add(() -> ended(false));
        List<Boolean> interrupted = new ArrayList<>();
        paging.closing = () -> {
            guest.requestStop();
            interrupted.add(Thread.currentThread().isInterrupted());
        };
        guest.start();
        Deadlines.await("the guest has ended", Deadlines.SHORT).until(guest::hasEnded);
        assertEquals(List.of(false), interrupted);
        assertEquals(Optional.of("the VMM has ended"), torn());
    }

    @Test
    void shouldNotBeToldAsEndedWithCountsOfBefore() throws Exception {
        handOff();
        CountDownLatch asked = new CountDownLatch(1);
        paging.script.add(() -> {
            Deadlines.await("the question", Deadlines.SHORT).until(() -> asked.getCount() == 0);
            return ended(true);
        });
        guest.start();
        Deadlines.await("the guest is attached", Deadlines.SHORT).until(guest::isAttached);
        Thread asking = Thread.currentThread();
        paging.counting = () -> {
            if (Thread.currentThread().equals(asking)) {
                asked.countDown();
                Deadlines.await("the guest has ended", Deadlines.SHORT).until(guest::hasEnded);
            }
        };
        assertEquals("attached", guest.status().state());
        assertEquals("ended", guest.status().state());
    }

    @Test
    void shouldKeepTheSpaceAttachedWhenTransfersMayBeUnderWayAtTheEnd() {
        handOff();
        paging.hasEnded = false;
        paging.script.add(() -> {
            guest.requestStop();
            throw new TimeoutException();
        });
        guest.run();
        assertEquals(List.of("probe", "pagers removed"), events);
        assertEquals("ended", guest.status().state());
        assertEquals(Optional.of("the agent is shutting down while its VMM runs; the VMM will stall"), torn());
        assertThrows(SpaceInUseException.class, this::use);
    }

    @Test
    void shouldRefuseAHandoffWithItsReasonAndAdmitTheNext() {
        refusals.add("no memory regions");
        int refused = handOff();
        int admitted = handOff();
        paging.script.add(() -> {
            assertEquals("", guest.status().detail(), "the refusal is over");
            return ended(true);
        });
        guest.run();
        assertEquals("no memory regions\n", answer(refused));
        assertEquals("", answer(admitted));
        assertEquals("the VMM has ended", guest.status().detail());
    }

    @Test
    void shouldRefuseAHandoffAndAdmitTheNextWhenNativeMemoryRunsOut() {
        refusals.add(NO_MEMORY);
        int refused = handOff();
        int admitted = handOff();
        paging.script.add(() -> ended(true));
        guest.run();
        String said = answer(refused);
        assertTrue(said.contains("Cannot reserve " + (1L << 60) + " bytes"), said);
        assertTrue(said.contains("-XX:MaxDirectMemorySize"), said);
        assertEquals("", answer(admitted));
    }

    @Test
    void shouldEndWithoutAVmmWhenItIsDetachedWhileItWaits() throws Exception {
        assertTrue(guest.stopWaiting());
        guest.run();
        assertEquals("detached before a VMM came", guest.status().detail());
        assertEquals(List.of("space released"), events);
        assertEquals(Optional.empty(), torn());
        use().close();
    }

    @Test
    void shouldEndWithoutAVmmWhenItsSpaceIsDeletedWhileItWaits() {
        deleteSpace();
        guest.run();
        assertEquals("its space was deleted before a VMM came", guest.status().detail());
        assertEquals(List.of("space released"), events);
    }

    @Test
    void shouldNotBeDetachedWhileItsVmmRuns() {
        handOff();
        paging.script.add(() -> {
            assertFalse(guest.stopWaiting());
            assertEquals(PID, guest.pid());
            throw new TimeoutException();
        });
        paging.script.add(() -> ended(true));
        guest.run();
        assertTrue(guest.hasEnded());
        assertTrue(guest.stopWaiting(), "a guest that has ended is detached");
    }

    @Test
    void shouldNotBeDetachedBeforeItServesAdoptedMemory() throws Exception {
        assertTrue(guest.stopWaiting());
        guest.run();
        events.clear();
        used = use();
        guest = new Guest(
                used,
                HandoffSocket.ended(directory.resolve("ended")),
                new AdoptedMemory(paging, Optional.empty()),
                new RecordingListener(),
                PARK_AFTER,
                () -> now);
        assertFalse(paging.isStarted);
        assertTrue(guest.isAttached(), "its VMM runs already");
        assertFalse(guest.stopWaiting());
        assertEquals(PID, guest.pid());
        paging.script.add(() -> ended(true));
        guest.run();
        assertEquals(List.of("presence asked for", "pagers removed", "presence map kept", "space released"), events);
    }

    @Test
    void shouldReportHeatOnceInEachInterval() {
        handOff();
        for (int probe = 0; probe < 13; probe++) {
            paging.script.add(() -> {
                now += Guest.HEAT_INTERVAL.toNanos() / 4;
                throw new TimeoutException();
            });
        }
        paging.script.add(() -> ended(true));
        guest.run();
        assertEquals(2, events.stream().filter("heat"::equals).count(), events.toString());
        assertEquals(4, events.indexOf("heat") - 1, "an interval and a quarter after the handoff: " + events);
    }

    @Test
    void shouldReportNoHeatWhileNoPageIsAskedFor() {
        handOff();
        paging.warm = List.of();
        pass(3, () -> {});
        paging.script.add(() -> ended(true));
        guest.run();
        assertFalse(events.contains("heat"), events.toString());
    }

    @Test
    void shouldCountItsPagesOnItsThreadOnceForEachRequest() {
        handOff();
        paging.script.add(() -> {
            throw new TimeoutException();
        });
        paging.script.add(() -> {
            assertEquals(Optional.empty(), guest.sample().orElseThrow().map());
            guest.requestMap();
            throw new TimeoutException();
        });
        paging.script.add(() -> {
            assertTrue(guest.sample().orElseThrow().map().isPresent());
            assertEquals(Optional.empty(), guest.sample().orElseThrow().map());
            throw new TimeoutException();
        });
        paging.script.add(() -> ended(true));
        guest.run();
        assertEquals(1, events.stream().filter("map"::equals).count(), events.toString());
        assertEquals(Optional.empty(), guest.sample(), "a guest that has ended has no figures");
    }

    @Test
    void shouldLetHomesReuseFramesOnceWhenTheDeletedSpaceIsCutOff() {
        handOff();
        paging.script.add(() -> {
            deleteSpace();
            throw new TimeoutException();
        });
        paging.script.add(() -> {
            assertEquals("", guest.status().detail(), "transfers were still under way");
            paging.cutOff = true;
            throw new TimeoutException();
        });
        paging.script.add(() -> {
            assertEquals(
                    "its space was deleted; the pages that are not resident are lost",
                    guest.status().detail());
            throw new TimeoutException();
        });
        paging.script.add(() -> ended(true));
        guest.run();
        assertEquals(2, paging.cutOffQueries, "the homes are told once");
    }

    @Test
    void shouldChangeTheLimitOnlyWhileItsVmmRuns() {
        guest.resize(100);
        assertEquals(0, paging.limit);
        handOff();
        paging.script.add(() -> {
            guest.resize(100);
            return ended(true);
        });
        guest.run();
        assertEquals(100, paging.limit);
        guest.resize(200);
        assertEquals(100, paging.limit);
    }

    /** The guest's thread waits through some intervals, and {@code each} happens in each of them. */
    private void pass(int intervals, Runnable each) {
        for (int i = 0; i < intervals; i++) {
            paging.script.add(() -> {
                each.run();
                now += Guest.HEAT_INTERVAL.toNanos() + 1;
                throw new TimeoutException();
            });
        }
    }

    @Test
    void shouldParkIdleGuestAfterTheConfiguredTime() {
        handOff();
        paging.status = new PagingStatus(resident(4096), GuestStatus.Faults.NONE, List.of());
        pass(7, () -> assertEquals(Optional.empty(), paging.parked));
        pass(1, () -> {});
        paging.script.add(() -> {
            assertEquals(256, paging.parked.orElseThrow().keepPages());
            assertEquals(256, guest.status().parked().orElseThrow().keepPages());
            return ended(true);
        });
        guest.run();
        assertEquals(1, events.stream().filter("parked"::equals).count(), events.toString());
        assertEquals(Optional.empty(), guest.status().parked(), "a guest that has ended is not parked");
    }

    @Test
    void shouldNotParkGuestWhenItFaultsOrItsVmmComputes() {
        handOff();
        paging.status = new PagingStatus(resident(4096), GuestStatus.Faults.NONE, List.of());
        pass(20, () -> paging.faults += 100);
        pass(20, () -> paging.processor = paging.processor.plusSeconds(1));
        paging.script.add(() -> ended(true));
        guest.run();
        assertEquals(0, events.stream().filter("parked"::equals).count(), events.toString());
    }

    @Test
    void shouldReportThatItsFaultsHaveUnparkedIt() {
        handOff();
        pass(1, () -> paging.wakes = true);
        paging.script.add(() -> ended(true));
        guest.run();
        assertEquals(1, events.stream().filter("unparked"::equals).count(), events.toString());
    }

    private static PagerStatus resident(long pages) {
        return new PagerStatus(65_536, 4096, pages, pages, 65_536, 0, 0, pages, 0, 0, 0, 0, 0, 0, 0, 0);
    }

    /** What waiting for the pagers gives next. */
    @FunctionalInterface
    private interface Answer {
        PagerEnd get() throws TimeoutException;
    }

    private final class ScriptedPaging implements Paging {
        private List<HeatReport.Range> warm = List.of(new HeatReport.Range(0, 512, 1));
        final Deque<Answer> script = new ArrayDeque<>();
        boolean evictable = true;
        boolean hasEnded = true;
        boolean cutOff;
        boolean isStarted;
        volatile boolean isForgotten;
        int cutOffQueries;
        int limit;
        Optional<Parked> parked = Optional.empty();
        boolean wakes;
        long faults;
        Duration processor = Duration.ZERO;
        PagingStatus status = PagingStatus.NONE;
        Runnable closing = () -> {};
        volatile Runnable counting = () -> {};

        @Override
        public GuestLatencies latencies(String space) {
            Histogram none = new Histogram(3);
            return new GuestLatencies(space, none, none, none);
        }

        @Override
        public List<TracedPager> traced(String space) {
            return List.of();
        }

        @Override
        public List<LatencySeries> series(String space) {
            return List.of();
        }

        @Override
        public int pid() {
            return PID;
        }

        @Override
        public void start() {
            assertTrue(guest.isAttached());
            isStarted = true;
        }

        @Override
        public boolean isEvictable() {
            return evictable;
        }

        @Override
        public PagerEnd await(Duration time) throws TimeoutException {
            assertEquals(Guest.PROBE_INTERVAL, time);
            assertTrue(isStarted);
            return script.remove().get();
        }

        @Override
        public void probe() {
            events.add("probe");
        }

        @Override
        public boolean isCutOff() {
            cutOffQueries++;
            return cutOff;
        }

        @Override
        public boolean hasEnded() {
            return hasEnded;
        }

        @Override
        public void resize(int localPages) {
            limit = localPages;
        }

        @Override
        public long leastParkedPages() {
            return 64;
        }

        @Override
        public void park(int keepPages) {
            parked = Optional.of(new Parked(keepPages, 4096, 0));
        }

        @Override
        public void unpark() {
            parked = Optional.empty();
        }

        @Override
        public Optional<Parked> parked() {
            return parked;
        }

        @Override
        public boolean unparkIfWoken() {
            boolean woken = wakes;
            wakes = false;
            return woken;
        }

        @Override
        public Optional<Duration> processorTime() {
            return Optional.of(processor);
        }

        @Override
        public long faults() {
            return faults;
        }

        @Override
        public HeatReport heat() {
            return new HeatReport(warm);
        }

        @Override
        public List<CopyReport.Copy> copies(long space) {
            return List.of();
        }

        @Override
        public GuestSample.Faults recentFaults() {
            return GuestSample.Faults.none();
        }

        @Override
        public PageMap map() {
            events.add("map");
            return new PageMap(List.of(1), List.of(1), List.of(1), List.of(1), List.of(1));
        }

        @Override
        public PinStatus pins() {
            return PinStatus.NONE;
        }

        @Override
        public PagerStatus where() {
            return status.where();
        }

        @Override
        public PagingStatus status() {
            counting.run();
            return status;
        }

        @Override
        public void close() {
            events.add("pagers removed");
            closing.run();
        }

        @Override
        public Optional<PresenceMap> presence() {
            events.add("presence asked for");
            return Optional.of(PresenceMap.unknown(1));
        }

        @Override
        public void forget() {
            isForgotten = true;
        }
    }

    private final class RecordingListener implements Guest.Listener {
        @Override
        public void heat(SpaceMap map, HeatReport heat) {
            events.add("heat");
        }

        @Override
        public void left(SpaceUse use, PresenceMap map) {
            events.add("presence map kept");
        }

        @Override
        public void parked(SpaceMap map) {
            events.add("parked");
        }

        @Override
        public void unparked(SpaceMap map) {
            events.add("unparked");
        }

        @Override
        public void released(SpaceMap map) {
            events.add("space released");
        }
    }
}
