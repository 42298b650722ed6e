package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;

/**
 * A link between two open devices that is made, used in both directions and ended, again and again, as when a network
 * cannot decide.
 */
final class FlappingLink implements AutoCloseable {
    /** Small enough for the completion queues to have room for two links. */
    private static final QpOptions OPTIONS =
            QpOptions.DEFAULT.withSizes(QpOptions.DEFAULT.sizes().withQueues(64, 16));

    private final Loopback pair;
    private final boolean encrypted;
    private final WorkCompletion[] one = WorkCompletion.array(1);

    FlappingLink(boolean encrypted) {
        this.encrypted = encrypted;
        this.pair = new Loopback(
                encrypted ? SoftOptions.DEFAULT.withEncryption(SoftOptions.Encryption.REQUIRED) : SoftOptions.DEFAULT);
        pair.requireWorking();
    }

    void flap() {
        long before = taken();
        try (QueuePair a = pair.callerDomain.createQueuePair(pair.callerQueue, pair.callerQueue, OPTIONS);
                QueuePair b = pair.serverDomain.createQueuePair(pair.serverQueue, pair.serverQueue, OPTIONS)) {
            prepare(a);
            prepare(b);
            a.modifyToRtr(b.endpoint());
            b.modifyToRtr(a.endpoint());
            a.modifyToRts();
            b.modifyToRts();
            read(a, pair.callerMemory, pair.callerRegion, pair.serverMemory, pair.serverRegion, pair.callerQueue);
            read(b, pair.serverMemory, pair.serverRegion, pair.callerMemory, pair.callerRegion, pair.serverQueue);
        }
        awaitGivenBack(before);
    }

    /** The thread of a responder gives its buffers back when it ends, which may be after the queue pair was closed. */
    private void awaitGivenBack(long before) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (taken() != before) {
            assertTrue(
                    System.nanoTime() - deadline < 0,
                    () -> "after 20 s " + taken() + " bytes are taken, before the link " + before);
            Thread.onSpinWait();
        }
    }

    private void prepare(QueuePair queuePair) {
        queuePair.modifyToInit();
        if (encrypted) {
            queuePair.requireProof(EncryptedProvider.SECRET);
        }
    }

    private void read(
            QueuePair queuePair,
            MemorySegment into,
            MemoryRegion local,
            MemorySegment from,
            MemoryRegion remote,
            CompletionQueue completions) {
        queuePair.prepareRead(1, into.address(), 4096, local.lkey(), from.address(), remote.rkey(), SendFlag.SIGNALED);
        queuePair.postSend();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (completions.poll(one) == 0) {
            assertTrue(System.nanoTime() - deadline < 0, "no completion within 20 s");
            Thread.onSpinWait();
        }
        assertEquals(WcStatus.SUCCESS, one[0].status(), one[0]::toString);
    }

    /** Bytes by {@link SoftProvider#nativeBytes} for the two queue pairs of a link that does not flap. */
    static long expected() {
        return 2 * SoftProvider.nativeBytes(QpOptions.DEFAULT);
    }

    /** Asks for a queue pair that the completion queue has no room for. */
    void createTooLarge() {
        pair.callerDomain.createQueuePair(pair.callerQueue, pair.callerQueue, QpOptions.DEFAULT);
    }

    /** Native memory that the two devices hold, used or not. */
    long bytes() {
        return buffers(pair.caller).bytes() + buffers(pair.server).bytes();
    }

    /** Native memory that connections and queue pairs of the two devices use. */
    long taken() {
        return buffers(pair.caller).taken() + buffers(pair.server).taken();
    }

    private static BufferPool buffers(Device device) {
        return ((SoftDevice) device).context().buffers();
    }

    @Override
    public void close() {
        pair.close();
    }

    /** The child process: arguments are how often the link flaps, and whether it is encrypted. */
    public static void main(String[] args) {
        try (FlappingLink link = new FlappingLink(Boolean.parseBoolean(args[1]))) {
            for (int i = 0; i < Integer.parseInt(args[0]); i++) {
                link.flap();
            }
        }
    }
}
