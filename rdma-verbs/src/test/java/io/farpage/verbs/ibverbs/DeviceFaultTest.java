package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.PortState;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a device reports when it fails. The test pulls the cable of the rig, so it runs only in the rig. */
final class DeviceFaultTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final QpOptions IMPATIENT = new QpOptions(
            QpOptions.DEFAULT.sizes(),
            new QpOptions.Retries(14, 3, 3, 12),
            QpOptions.DEFAULT.path(),
            QpOptions.DEFAULT.access());

    @TempDir
    private Path directory = Path.of("");

    @BeforeEach
    void requireRig() {
        assumeTrue(
                System.getProperty(IbverbsFixture.DEVICES, "").equals("rxe1,rxe2"),
                "needs the rig's two devices rxe1 and rxe2, whose cable it pulls");
    }

    @Test
    void shouldRaiseEventsWhenPortGoesDownAndComesBack() throws Exception {
        try (Device device = new IbverbsProvider().open("rxe1")) {
            link("down");
            AsyncEvent down = awaitEvent(device, AsyncEvent.Type.PORT_ERR);
            assertEquals(1, down.element());
            assertEquals(PortState.DOWN, device.queryPort().state());
            link("up");
            awaitEvent(device, AsyncEvent.Type.PORT_ACTIVE);
            assertEquals(PortState.ACTIVE, device.queryPort().state());
        } finally {
            link("up");
        }
    }

    @Test
    void shouldFailAReadWhileTheCableIsOutAndReconnectWhenItIsIn() throws Exception {
        try (Link link = new Link("rxe1", "rxe2")) {
            assertEquals(WcStatus.SUCCESS, link.read());
            link("down");
            // SoftRoCE finds no way out at once; a NIC sends and hears nothing.
            assertTrue(
                    EnumSet.of(WcStatus.LOC_QP_OP_ERR, WcStatus.RETRY_EXC_ERR).contains(link.read()));
            assertEquals(QpState.ERR, link.here.state());
        } finally {
            link("up");
        }
        try (Link again = new Link("rxe1", "rxe2")) {
            assertEquals(WcStatus.SUCCESS, again.read());
        }
    }

    @Test
    void shouldRaiseEventAtTheResponderWhenItRefusesAnAccess() throws Exception {
        try (Link link = new Link("rxe1", "rxe2")) {
            assertEquals(WcStatus.REM_ACCESS_ERR, link.read(link.region.rkey() ^ 0x10));
            // The responder has no completion to tell it: it sees its own state.
            Deadlines.await("the responder in error", TIMEOUT).until(() -> link.there.state() == QpState.ERR);
        }
    }

    @Test
    void shouldCloseDeviceWhileAThreadAwaitsAnEvent() throws Exception {
        Device device = new IbverbsProvider().open("rxe1");
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<Optional<AsyncEvent>> waiting =
                    threads.submit(() -> device.awaitAsyncEvent(Duration.ofDays(10_000)));
            assertFalse(waiting.isDone());
            device.close();
            assertEquals(Optional.empty(), waiting.get());
        }
    }

    private static AsyncEvent awaitEvent(Device device, AsyncEvent.Type type) throws InterruptedException {
        while (true) {
            AsyncEvent event =
                    device.awaitAsyncEvent(TIMEOUT).orElseThrow(() -> new AssertionError("no " + type + " came"));
            if (event.type() == type) {
                return event;
            }
        }
    }

    private void link(String state) throws IOException, InterruptedException {
        assertEquals(0, CCompiler.run(directory, List.of("ip", "link", "set", "cable1", state)));
        if (state.equals("up")) {
            // A route goes with its interface.
            CCompiler.run(
                    directory,
                    List.of(
                            "ip",
                            "route",
                            "replace",
                            "10.77.0.2/32",
                            "dev",
                            "cable1",
                            "src",
                            "10.77.0.1",
                            "table",
                            "101"));
        }
    }

    /** Two connected queue pairs and memory to read. */
    private static final class Link implements AutoCloseable {
        private final Arena arena = Arena.ofShared();
        private final Device device;
        private final Device peer;
        private final ProtectionDomain domain;
        private final ProtectionDomain peerDomain;
        private final CompletionQueue queue;
        private final CompletionQueue peerQueue;
        private final MemoryRegion into;
        private final MemoryRegion region;
        private final QueuePair here;
        private final QueuePair there;

        Link(String device, String peer) {
            this.device = new IbverbsProvider().open(device);
            this.peer = new IbverbsProvider().open(peer);
            domain = this.device.allocateProtectionDomain();
            peerDomain = this.peer.allocateProtectionDomain();
            queue = this.device.createCompletionQueue(256);
            peerQueue = this.peer.createCompletionQueue(256);
            into = domain.registerMemory(arena.allocate(4096, 4096), EnumSet.of(AccessFlag.LOCAL_WRITE));
            region = peerDomain.registerMemory(arena.allocate(4096, 4096), EnumSet.of(AccessFlag.REMOTE_READ));
            here = domain.createQueuePair(queue, queue, IMPATIENT);
            there = peerDomain.createQueuePair(peerQueue, peerQueue, IMPATIENT);
            here.modifyToInit();
            there.modifyToInit();
            here.modifyToRtr(there.endpoint());
            there.modifyToRtr(here.endpoint());
            here.modifyToRts();
            there.modifyToRts();
        }

        WcStatus read() {
            return read(region.rkey());
        }

        WcStatus read(int rkey) {
            here.prepareRead(1, into.address(), 4096, into.lkey(), region.address(), rkey, SendFlag.SIGNALED);
            here.postSend();
            WorkCompletion[] one = WorkCompletion.array(1);
            for (Deadlines.Wait wait = Deadlines.begin("the READ", TIMEOUT); queue.poll(one) == 0; wait.check()) {
                Thread.onSpinWait();
            }
            return one[0].status();
        }

        @Override
        public void close() {
            here.close();
            there.close();
            into.close();
            region.close();
            queue.close();
            peerQueue.close();
            domain.close();
            peerDomain.close();
            device.close();
            peer.close();
            arena.close();
        }
    }
}
