package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.Gid;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.ResourceBusyException;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.SharedReceiveQueue;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WorkCompletion;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the provider does by itself, over a library whose work requests succeed at once. */
final class DataPathTest {
    private static final QpEndpoint PEER = new QpEndpoint(1, 0, Gid.parse("::ffff:10.0.0.1"), 0);

    private static final int SHARED_RECEIVES = 4;

    @TempDir
    private static Path directory = Path.of("");

    private final WorkCompletion[] completions = WorkCompletion.array(32);
    /** What a test has opened, the last first. It is empty where the library cannot be compiled. */
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    private Device device = absent();
    private ProtectionDomain domain = absent();
    private CompletionQueue queue = absent();
    private QueuePair qp = absent();

    @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"}) // before the first test there is none
    private static <T> T absent() {
        return null;
    }

    @BeforeEach
    void open() throws Exception {
        device = opened(fake(directory).open("fake0"));
        domain = opened(device.allocateProtectionDomain());
        queue = opened(device.createCompletionQueue(256));
        qp = opened(domain.createQueuePair(
                queue, queue, QpOptions.DEFAULT.withSizes(new QpOptions.Sizes(64, 16, 1, 0, 16))));
        qp.modifyToInit();
        qp.modifyToRtr(PEER);
        qp.modifyToRts();
    }

    private <T extends AutoCloseable> T opened(T resource) {
        opened.push(resource);
        return resource;
    }

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable resource : opened) {
            resource.close();
        }
    }

    /** A provider of the fake library. */
    static IbverbsProvider fake(Path directory) throws Exception {
        assumeTrue(
                CCompiler.hasHeader(directory, "infiniband/verbs.h"),
                "there is no <infiniband/verbs.h> (libibverbs-dev) or no C compiler");
        Path library = directory.resolve("libfake.so");
        if (!Files.exists(library)) {
            try (InputStream source =
                    Objects.requireNonNull(DataPathTest.class.getResourceAsStream("fake_ibverbs.c"))) {
                CCompiler.compile(
                        directory,
                        "libfake.so",
                        new String(source.readAllBytes(), StandardCharsets.UTF_8),
                        "-shared",
                        "-fPIC",
                        "-O2");
            }
        }
        Host host = new Host(directory.resolve("sys"), directory.resolve("dev"), directory.resolve("proc"));
        return new IbverbsProvider(IbvOptions.DEFAULT.withLibrary(library), host);
    }

    private void read(long wrId, long remote, int flags) {
        qp.prepareRead(wrId, 0x1000, 4096, 1, remote, 2, flags);
    }

    @Test
    void shouldAllocateNothingPerRead() {
        read(20_000);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        read(20_000);
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        // Asking allocates a little by itself.
        assertTrue(allocated < 20_000, allocated + " bytes in 20,000 READs");
    }

    private void read(int count) {
        for (int i = 0; i < count; i++) {
            read(i, 0x2000, SendFlag.SIGNALED);
            qp.postSend();
            assertEquals(1, queue.poll(completions));
        }
    }

    @Test
    void shouldCompleteReceivesOfTwoSharedQueues() {
        SharedReceiveQueue first = sharedQueueOfAPair();
        SharedReceiveQueue second = sharedQueueOfAPair();
        for (int round = 0; round < 2 * SHARED_RECEIVES; round++) {
            first.prepareRecv(100 + round, 0x1000, 64, 1);
            first.postRecv();
            second.prepareRecv(200 + round, 0x1000, 64, 1);
            second.postRecv();
            assertEquals(2, queue.poll(completions));
            assertEquals(100 + round, completions[0].wrId());
            assertEquals(200 + round, completions[1].wrId());
            assertEquals(WcOpcode.RECV, completions[0].opcode());
        }
    }

    private SharedReceiveQueue sharedQueueOfAPair() {
        SharedReceiveQueue shared = opened(domain.createSharedReceiveQueue(SHARED_RECEIVES, 1));
        QueuePair pair = opened(domain.createQueuePair(
                queue, queue, shared, QpOptions.DEFAULT.withSizes(new QpOptions.Sizes(16, 16, 1, 0, 16))));
        ResourceBusyException busy = assertThrows(ResourceBusyException.class, shared::close);
        assertTrue(String.valueOf(busy.getMessage()).contains(pair.toString()), busy::toString);
        return shared;
    }

    @Test
    void shouldFreeUnsignaledWorkWithTheNextSignaled() {
        for (int i = 0; i < 63; i++) {
            read(i, 0x2000, SendFlag.NONE);
        }
        read(63, 0x2000, SendFlag.SIGNALED);
        qp.postSend();
        assertEquals(0, qp.sendQueueSpace());

        assertEquals(1, queue.poll(completions));

        assertEquals(63, completions[0].wrId());
        assertEquals(64, qp.sendQueueSpace());
    }

    @Test
    void shouldDropCompletionsFromBeforeAReset() {
        read(1, 0x2000, SendFlag.SIGNALED);
        qp.postSend();
        qp.modifyToReset();

        assertEquals(0, queue.poll(completions));
    }

    @Test
    void shouldDiscardAChainWhenDeviceRefusesItWhole() {
        read(1, 0xbad, SendFlag.SIGNALED);
        read(2, 0x2000, SendFlag.SIGNALED);

        VerbsException refused = assertThrows(VerbsException.class, qp::postSend);

        assertTrue(String.valueOf(refused.getMessage()).contains("accepted 0 of 2"), refused::toString);
        assertEquals(64, qp.sendQueueSpace());
        assertEquals(QpState.RTS, qp.state());
    }

    @Test
    void shouldMoveToErrWhenDeviceAcceptsPartOfAChain() {
        read(1, 0x2000, SendFlag.SIGNALED);
        read(2, 0xbad, SendFlag.SIGNALED);
        read(3, 0x2000, SendFlag.SIGNALED);

        VerbsException refused = assertThrows(VerbsException.class, qp::postSend);

        assertTrue(String.valueOf(refused.getMessage()).contains("accepted 1 of 3"), refused::toString);
        assertEquals(63, qp.sendQueueSpace());
        assertEquals(QpState.ERR, qp.state());
        assertEquals(1, queue.poll(completions));
        assertEquals(1, completions[0].wrId());
    }

    @Test
    void shouldFindHowMuchInlineDataFits() {
        assertEquals(128, device.attributes().maxInlineData());
    }

    @Test
    void shouldNameTheCallAndTheCauseOfAFailure() {
        VerbsException refused = assertThrows(VerbsException.class, device::createCompletionChannel);

        assertTrue(
                String.valueOf(refused.getMessage()).startsWith("create_comp_channel on fake0/1: EMFILE; "),
                refused::toString);
        assertTrue(String.valueOf(refused.getMessage()).contains("ulimit -n"), refused::toString);
    }
}
