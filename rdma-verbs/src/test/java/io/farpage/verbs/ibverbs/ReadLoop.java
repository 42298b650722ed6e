package io.farpage.verbs.ibverbs;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WorkCompletion;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;

/**
 * READs of 4 KiB between two queue pairs, one after the other or several in flight, timed: the provider's own cost, to
 * be held against perftest's {@code ib_read_lat} and {@code ib_read_bw} on the same device in the same boot.
 *
 * <p>{@code java … io.farpage.verbs.ibverbs.ReadLoop DEVICE PEER_DEVICE} reads lines {@code DEPTH READS} from its input
 * and answers each with one: p50, p99, p99.9 and the maximum in microseconds, READs per second, and bytes allocated per
 * READ; an empty line ends it. Between lines it sleeps, so that a baseline can be measured in turn with it.
 */
public final class ReadLoop implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int MAX_DEPTH = 64;
    private static final int WARM_UP = 5000;
    private static final EnumSet<AccessFlag> ACCESS =
            EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);

    private final Arena arena = Arena.ofShared();
    private final Side here;
    private final Side there;
    private final WorkCompletion[] completions = WorkCompletion.array(MAX_DEPTH);

    private ReadLoop(String device, String peer) {
        IbverbsProvider provider = new IbverbsProvider(IbvOptions.DEFAULT);
        here = new Side(provider.open(device), arena.allocate((long) MAX_DEPTH * PAGE, PAGE));
        there = new Side(provider.open(peer), arena.allocate((long) MAX_DEPTH * PAGE, PAGE));
        here.connect(there);
        there.connect(here);
    }

    public static void main(String[] args) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (ReadLoop loop = new ReadLoop(args[0], args[1])) {
            loop.run(MAX_DEPTH, new long[WARM_UP]);
            for (String line = input.readLine(); line != null && !line.isEmpty(); line = input.readLine()) {
                String[] words = line.split(" ", 2);
                loop.measure(Integer.parseInt(words[0]), Integer.parseInt(words[1]));
            }
        }
    }

    private void measure(int depth, int reads) {
        run(depth, new long[reads / 10 + 1]);
        long[] nanos = new long[reads];
        long allocated = allocatedBytes();
        long start = System.nanoTime();
        run(depth, nanos);
        double seconds = (System.nanoTime() - start) / 1e9;
        allocated = allocatedBytes() - allocated;
        Arrays.sort(nanos);
        System.out.printf(
                Locale.ROOT,
                "p50 %.2f p99 %.2f p99.9 %.2f max %.2f rate %.0f bytes %.3f%n",
                percentile(nanos, 0.5),
                percentile(nanos, 0.99),
                percentile(nanos, 0.999),
                nanos[reads - 1] / 1000.0,
                reads / seconds,
                (double) allocated / reads);
    }

    private static double percentile(long[] sorted, double fraction) {
        return sorted[(int) Math.min(sorted.length - 1L, Math.round(sorted.length * fraction))] / 1000.0;
    }

    private static long allocatedBytes() {
        return ((com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean())
                .getCurrentThreadAllocatedBytes();
    }

    /**
     * Reads {@code nanos.length} pages, {@code depth} in flight, and notes how long each took from post to completion.
     */
    private void run(int depth, long[] nanos) {
        long local = here.region.address();
        long remote = there.region.address();
        int posted = 0;
        int done = 0;
        while (done < nanos.length) {
            while (posted < nanos.length && posted - done < depth) {
                long offset = (long) (posted % depth) * PAGE;
                nanos[posted] = -System.nanoTime();
                here.qp.prepareRead(
                        posted,
                        local + offset,
                        PAGE,
                        here.region.lkey(),
                        remote + offset,
                        there.region.rkey(),
                        SendFlag.SIGNALED);
                here.qp.postSend();
                posted++;
            }
            int count = here.cq.poll(completions);
            for (int i = 0; i < count; i++) {
                if (!completions[i].isSuccess()) {
                    throw new IllegalStateException(completions[i].toString());
                }
                nanos[(int) completions[i].wrId()] += System.nanoTime();
            }
            done += count;
        }
    }

    @Override
    public void close() {
        here.close();
        there.close();
        arena.close();
    }

    /** One end: a device with all that a queue pair needs. */
    private static final class Side implements AutoCloseable {
        private final Device device;
        private final ProtectionDomain domain;
        private final CompletionQueue cq;
        private final MemoryRegion region;
        private final QueuePair qp;

        Side(Device device, MemorySegment memory) {
            this.device = device;
            domain = device.allocateProtectionDomain();
            cq = device.createCompletionQueue(2 * MAX_DEPTH);
            region = domain.registerMemory(memory, ACCESS);
            qp = domain.createQueuePair(
                    cq, cq, QpOptions.DEFAULT.withSizes(new QpOptions.Sizes(MAX_DEPTH, 1, 1, 0, 16)));
            qp.modifyToInit();
        }

        void connect(Side peer) {
            qp.modifyToRtr(peer.qp.endpoint());
            qp.modifyToRts();
        }

        @Override
        public void close() {
            qp.close();
            region.close();
            cq.close();
            domain.close();
            device.close();
        }
    }
}
