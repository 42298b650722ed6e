package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Two soft devices in this process with a connected pair of queue pairs, for tests that look inside. */
final class Loopback implements AutoCloseable {
    /** The smallest socket buffers that the tests use, so that few requests fill them. */
    static final SoftOptions.Listening SMALL_BUFFERS =
            new SoftOptions.Listening(SoftOptions.DEFAULT.listening().address(), Optional.empty(), 16384);

    static final int SIZE = 1 << 16;

    final Arena arena = Arena.ofShared();
    final Device caller;
    final Device server;
    final ProtectionDomain callerDomain;
    final ProtectionDomain serverDomain;
    final CompletionChannel channel;
    final CompletionQueue callerQueue;
    final CompletionQueue serverQueue;
    final MemorySegment callerMemory = arena.allocate(SIZE, 4096);
    final MemorySegment serverMemory = arena.allocate(SIZE, 4096);
    final MemoryRegion callerRegion;
    final MemoryRegion serverRegion;
    final QueuePair from;
    final QueuePair to;
    private final WorkCompletion[] one = WorkCompletion.array(1);
    private final boolean proving;

    Loopback(SoftOptions options) {
        this(options, QpOptions.DEFAULT);
    }

    Loopback(SoftOptions options, QpOptions qpOptions) {
        this(options, options, qpOptions);
    }

    /** If either side requires encryption, both hold {@link EncryptedProvider#SECRET}. */
    Loopback(SoftOptions callerOptions, SoftOptions serverOptions, QpOptions qpOptions) {
        proving = callerOptions.encryption().required()
                || serverOptions.encryption().required();
        caller = new SoftProvider(callerOptions).open(SoftProvider.DEVICE);
        server = new SoftProvider(serverOptions).open(SoftProvider.DEVICE);
        callerDomain = caller.allocateProtectionDomain();
        serverDomain = server.allocateProtectionDomain();
        channel = caller.createCompletionChannel();
        callerQueue = caller.createCompletionQueue(256, channel);
        serverQueue = server.createCompletionQueue(256);
        callerRegion = callerDomain.registerMemory(callerMemory, EnumSet.allOf(AccessFlag.class));
        serverRegion = serverDomain.registerMemory(serverMemory, EnumSet.allOf(AccessFlag.class));
        from = callerDomain.createQueuePair(callerQueue, callerQueue, qpOptions);
        to = serverDomain.createQueuePair(serverQueue, serverQueue, qpOptions);
        connect();
    }

    void connect() {
        connect(to.endpoint());
    }

    /** @param reached where the caller finds the server */
    void connect(QpEndpoint reached) {
        from.modifyToInit();
        to.modifyToInit();
        if (proving) {
            from.requireProof(EncryptedProvider.SECRET);
            to.requireProof(EncryptedProvider.SECRET);
        }
        from.modifyToRtr(reached);
        to.modifyToRtr(from.endpoint());
        from.modifyToRts();
        to.modifyToRts();
    }

    void post(long wrId, int length) {
        from.prepareRead(
                wrId,
                callerMemory.address(),
                length,
                callerRegion.lkey(),
                serverMemory.address(),
                serverRegion.rkey(),
                SendFlag.SIGNALED);
        from.postSend();
    }

    /** One completion, by polling. */
    WorkCompletion spin() {
        return spin(callerQueue);
    }

    private WorkCompletion spin(CompletionQueue queue) {
        // No Deadlines, which allocates: some tests count what is allocated meanwhile.
        long began = System.nanoTime();
        while (queue.poll(one) == 0) {
            long waited = System.nanoTime() - began;
            assertTrue(waited < 20_000_000_000L, "no completion within 20 s");
            if (waited > 100_000) {
                LockSupport.parkNanos(10_000); // the responder may wait for this CPU
            }
        }
        return one[0];
    }

    /** One completion, by sleeping. */
    WorkCompletion sleep() {
        long deadline = System.nanoTime() + 20_000_000_000L;
        while (true) {
            callerQueue.requestNotification();
            if (callerQueue.poll(one) == 1) {
                return one[0];
            }
            channel.await(1_000_000_000L);
            assertTrue(System.nanoTime() - deadline < 0, "no completion within 20 s");
        }
    }

    void sleepOnce() {
        post(98, 4096);
        assertEquals(98, sleep().wrId());
    }

    /** Reads once each way; then both connections, and the threads that serve them, are there. */
    void requireWorking() {
        post(99, 4096);
        requireSuccess(99, spin(callerQueue));
        to.prepareRead(
                97,
                serverMemory.address(),
                4096,
                serverRegion.lkey(),
                callerMemory.address(),
                callerRegion.rkey(),
                SendFlag.SIGNALED);
        to.postSend();
        requireSuccess(97, spin(serverQueue));
    }

    private static void requireSuccess(long wrId, WorkCompletion completion) {
        assertEquals(wrId, completion.wrId());
        assertEquals(WcStatus.SUCCESS, completion.status(), completion::toString);
    }

    @Override
    public void close() {
        from.close();
        to.close();
        callerRegion.close();
        serverRegion.close();
        callerQueue.close();
        serverQueue.close();
        channel.close();
        callerDomain.close();
        serverDomain.close();
        caller.close();
        server.close();
        arena.close();
    }
}
