package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.Availability.Available;
import io.farpage.verbs.Availability.Reason;
import io.farpage.verbs.Availability.Unavailable;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.Gid;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.ResourceBusyException;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What devices that no test machine has make the provider do. */
final class StubDeviceTest {
    private static final int LINK_LAYER_ETHERNET = 2;
    private static final int TRANSPORT_IWARP = 1;
    private static final int TRANSPORT_UNSPECIFIED = 4;
    private static final int ENOMEM = 12;
    private static final Gid SAME_SUBNET = new Gid(0xfe80L << 48, 2);
    private static final Gid OTHER_SUBNET = new Gid(0xfe80L << 48 | 1, 2);

    @TempDir
    private Path directory = Path.of("");

    private StubLibrary library;

    @BeforeEach
    void compile() throws Exception {
        library = StubLibrary.compile(directory);
    }

    /** Moves a queue pair to RTR; whether its address has a global route header. */
    private boolean isGlobal(Gid peer) {
        try (Device device = library.provider().open(StubLibrary.DEVICE);
                ProtectionDomain domain = device.allocateProtectionDomain();
                CompletionQueue queue = device.createCompletionQueue(1024);
                QueuePair pair = domain.createQueuePair(queue, queue, QpOptions.DEFAULT)) {
            pair.modifyToInit();
            pair.modifyToRtr(new QpEndpoint(20, 9, peer, 5));
        }
        return library.attr().get(JAVA_BYTE, QpAttr.IS_GLOBAL) == 1;
    }

    @Test
    void shouldSendAGlobalRouteHeaderWhereItIsNeeded() {
        assertEquals(false, isGlobal(SAME_SUBNET));
        assertEquals(true, isGlobal(OTHER_SUBNET));
        library.set("stub_link_layer", LINK_LAYER_ETHERNET);
        assertEquals(true, isGlobal(SAME_SUBNET));
    }

    @Test
    void shouldSendAGlobalRouteHeaderFromAVirtualPortThatRequiresIt() {
        library.set("stub_port_flags", 1);
        assertEquals(true, isGlobal(SAME_SUBNET));
    }

    @Test
    void shouldGoOnWithADeviceThatIsRenamed() throws Exception {
        library.node("uverbs0", StubLibrary.DEVICE);
        try (Device device = library.provider().open(StubLibrary.DEVICE)) {
            library.rename("uverbs0", "rocep59s0f0");
            device.queryPort();
            assertEquals("rocep59s0f0", device.presentName());
            assertEquals(StubLibrary.DEVICE, device.name());
        }
    }

    @Test
    void shouldKnowADeviceThatWasRemovedAlthoughAnotherHasItsNames() throws Exception {
        library.node("uverbs0", StubLibrary.DEVICE);
        try (Device device = library.provider().open(StubLibrary.DEVICE)) {
            library.node("uverbs0", StubLibrary.DEVICE);
            assertThrows(VerbsException.class, device::queryPort);
            library.removeNode("uverbs0");
            assertThrows(VerbsException.class, device::queryPort);
            assertEquals(StubLibrary.DEVICE, device.presentName());
        }
    }

    @Test
    void shouldCloseAndQueryWhileAnotherThreadRegistersMemory() throws Exception {
        try (ExecutorService threads = Executors.newCachedThreadPool();
                Arena arena = Arena.ofShared();
                Device device = library.provider().open(StubLibrary.DEVICE);
                ProtectionDomain domain = device.allocateProtectionDomain();
                CompletionQueue queue = device.createCompletionQueue(1024)) {
            QueuePair pair = domain.createQueuePair(queue, queue, QpOptions.DEFAULT);
            MemoryRegion other = domain.registerMemory(arena.allocate(4096, 4096), Set.of());
            MemorySegment large = arena.allocate(4096, 4096);
            library.set("stub_registering_takes_long", 1);
            Future<MemoryRegion> registering = threads.submit(() -> domain.registerMemory(large, Set.of()));
            try {
                Deadlines.await("the registration has begun", Deadlines.SHORT)
                        .until(() -> library.get("stub_registering") == 1);
                Future<?> meanwhile = threads.submit(() -> {
                    device.queryPort();
                    other.close();
                    pair.close();
                });
                Deadlines.get("what another thread does meanwhile", Duration.ofSeconds(3), meanwhile);
                assertThrows(ResourceBusyException.class, domain::close);
            } finally {
                library.set("stub_registering_takes_long", 0);
                Deadlines.get("the registration", Deadlines.SHORT, registering).close();
            }
        }
    }

    @Test
    void shouldFlushWhatWasPreparedBeforeTheError() {
        try (Arena arena = Arena.ofConfined();
                Device device = library.provider().open(StubLibrary.DEVICE);
                ProtectionDomain domain = device.allocateProtectionDomain();
                CompletionQueue queue = device.createCompletionQueue(1024);
                QueuePair pair = domain.createQueuePair(queue, queue, QpOptions.DEFAULT)) {
            pair.modifyToInit();
            pair.modifyToRtr(new QpEndpoint(20, 9, SAME_SUBNET, 5));
            pair.modifyToRts();
            pair.prepareRead(7, arena.allocate(64).address(), 64, 1, 4096, 2, SendFlag.SIGNALED);
            pair.modifyToErr();
            pair.postSend();
            WorkCompletion[] two = WorkCompletion.array(2);
            assertEquals(1, queue.poll(two));
            assertEquals(7, two[0].wrId());
            assertEquals(WcStatus.WR_FLUSH_ERR, two[0].status());
        }
    }

    @Test
    void shouldNotBlockWhenAnEventGoesWithItsQueuePairBeforeItIsRead() throws Exception {
        Device device = library.provider().open(StubLibrary.DEVICE);
        library.set("stub_event_goes", 1);
        assertEquals(Optional.empty(), awaitEvent(device));
        library.set("stub_event_goes", 0);
        assertEquals(Optional.of(new AsyncEvent(AsyncEvent.Type.PORT_ACTIVE, 1)), awaitEvent(device));
        device.close();
    }

    /**
     * Raises an event and waits for it. A thread that blocks in read(2) cannot be interrupted, and keeps the device
     * open.
     */
    private Optional<AsyncEvent> awaitEvent(Device device) throws Exception {
        library.raise();
        CompletableFuture<Optional<AsyncEvent>> event = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                event.complete(device.awaitAsyncEvent(Duration.ofMillis(1)));
            } catch (InterruptedException e) {
                event.completeExceptionally(e);
            }
        });
        return Deadlines.get("the event", Duration.ofSeconds(3), event);
    }

    private Unavailable refusal() {
        return assertInstanceOf(Unavailable.class, library.provider().probe());
    }

    @Test
    void shouldUseADeviceWithReliableConnections() {
        assertEquals(
                new Available(List.of(StubLibrary.DEVICE)), library.provider().probe());
    }

    @Test
    void shouldRefuseADeviceOfIwarp() {
        library.set("stub_transport", TRANSPORT_IWARP);
        Unavailable why = refusal();
        assertEquals(Reason.NOT_RC, why.reason());
        assertTrue(why.detail().contains("stub0 is an iWARP device"), why.toString());
        assertEquals(0, library.get("stub_opened"));
    }

    @Test
    void shouldRefuseADeviceWhoseTransportHasNoReliableConnections() {
        library.set("stub_transport", TRANSPORT_UNSPECIFIED);
        Unavailable why = refusal();
        assertEquals(Reason.NOT_RC, why.reason());
        assertTrue(why.detail().contains("stub0"), why.toString());
    }

    @Test
    void shouldRefuseADeviceThatCreatesNoQueuePair() {
        library.set("stub_create_qp_error", ENOMEM);
        Unavailable why = refusal();
        assertEquals(Reason.DEVICE_FAILED, why.reason());
        assertTrue(why.detail().startsWith("create_qp on stub0: ENOMEM"), why.toString());
    }
}
