package io.farpage.verbs.soft;

import io.farpage.linux.NativeThread;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.Gid;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WorkCompletion;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;

/**
 * Times 4 KiB READs between two processes, for comparison with a C program of the same shape.
 *
 * <pre>{@code
 * java -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED -cp … io.farpage.verbs.soft.ReadProbe \
 *     spin|block depth seconds cpu serverCpu
 * }</pre>
 *
 * Prints one line: p50, p99 and maximum in µs at depth 1, pages per second at a greater depth.
 */
final class ReadProbe {
    private static final int PAGE = 4096;
    private static final int PAGES = 4096;

    private ReadProbe() {}

    /** Starts a serving process, or is one. */
    public static void main(String[] args) throws IOException {
        if (args[0].equals("serve")) {
            serve(args[1].equals("spin"), Integer.parseInt(args[2]));
        } else {
            boolean spin = args[0].equals("spin");
            int depth = Integer.parseInt(args[1]);
            double seconds = Double.parseDouble(args[2]);
            int cpu = Integer.parseInt(args[3]);
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:+UseSerialGC",
                    "--enable-native-access=ALL-UNNAMED",
                    "-cp",
                    System.getProperty("java.class.path"),
                    ReadProbe.class.getName(),
                    "serve",
                    args[0],
                    args[4]));
            Process server = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            try {
                fetch(spin, depth, seconds, cpu, server);
            } finally {
                server.destroyForcibly();
            }
        }
    }

    private static SoftOptions options(boolean spin, int cpu) {
        return SoftOptions.DEFAULT.withResponders(new SoftOptions.Responders(
                spin ? IdleStrategy.SPIN : IdleStrategy.BLOCK, Duration.ZERO, cpu < 0 ? List.of() : List.of(cpu), 0));
    }

    private static String format(QpEndpoint endpoint) {
        return endpoint.qpn() + " " + endpoint.lid() + " " + endpoint.gid() + " " + endpoint.psn();
    }

    private static QpEndpoint parse(String[] words) {
        return new QpEndpoint(
                Integer.parseInt(words[0]),
                Integer.parseInt(words[1]),
                Gid.parse(words[2]),
                Integer.parseInt(words[3]));
    }

    private static void serve(boolean spin, int cpu) throws IOException {
        PrintStream stdout = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader stdin = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Device device = new SoftProvider(options(spin, cpu)).open(SoftProvider.DEVICE);
        ProtectionDomain domain = device.allocateProtectionDomain();
        MemorySegment memory = Arena.global().allocate((long) PAGE * PAGES, 4096);
        memory.fill((byte) 1);
        MemoryRegion region = domain.registerMemory(memory, EnumSet.of(AccessFlag.REMOTE_READ));
        CompletionQueue queue = device.createCompletionQueue(256);
        QueuePair queuePair = domain.createQueuePair(
                queue, queue, QpOptions.DEFAULT.withSizes(new QpOptions.Sizes(128, 16, 1, 0, 128)));
        stdout.println(format(queuePair.endpoint()) + " " + region.address() + " " + region.rkey());
        queuePair.modifyToInit();
        queuePair.modifyToRtr(parse(stdin.readLine().split(" ")));
        queuePair.modifyToRts();
        while (stdin.readLine() != null) {}
    }

    private static void fetch(boolean spin, int depth, double seconds, int cpu, Process server) throws IOException {
        if (cpu >= 0) {
            NativeThread.pinTo(cpu);
        }
        String[] peer = server.inputReader(StandardCharsets.UTF_8).readLine().split(" ");
        Device device = new SoftProvider(options(spin, -1)).open(SoftProvider.DEVICE);
        ProtectionDomain domain = device.allocateProtectionDomain();
        MemorySegment memory = Arena.global().allocate((long) PAGE * Math.max(depth, 1), 4096);
        MemoryRegion region = domain.registerMemory(memory, EnumSet.of(AccessFlag.LOCAL_WRITE));
        CompletionChannel channel = device.createCompletionChannel();
        CompletionQueue queue = device.createCompletionQueue(256, channel);
        QueuePair queuePair = domain.createQueuePair(
                queue, queue, QpOptions.DEFAULT.withSizes(new QpOptions.Sizes(128, 16, 1, 0, 128)));
        var writer = server.outputWriter(StandardCharsets.UTF_8);
        writer.write(format(queuePair.endpoint()) + "\n");
        writer.flush();
        queuePair.modifyToInit();
        queuePair.modifyToRtr(parse(peer));
        queuePair.modifyToRts();
        long remote = Long.parseLong(peer[4]);
        int rkey = Integer.parseInt(peer[5]);
        Loop loop = new Loop(spin, queue, channel, queuePair, memory, region, remote, rkey, depth);
        loop.run(2_000_000_000L);
        loop.run((long) (1e9 * seconds));
        loop.print();
    }

    private static final class Loop {
        private final boolean spin;
        private final CompletionQueue queue;
        private final CompletionChannel channel;
        private final QueuePair queuePair;
        private final MemorySegment memory;
        private final MemoryRegion region;
        private final long remote;
        private final int rkey;
        private final int depth;
        private final WorkCompletion[] done;
        private final long[] times = new long[4_000_000];
        private int samples;
        private long pages;
        private long elapsed;
        private long seed = 88172645463325252L;

        Loop(
                boolean spin,
                CompletionQueue queue,
                CompletionChannel channel,
                QueuePair queuePair,
                MemorySegment memory,
                MemoryRegion region,
                long remote,
                int rkey,
                int depth) {
            this.spin = spin;
            this.queue = queue;
            this.channel = channel;
            this.queuePair = queuePair;
            this.memory = memory;
            this.region = region;
            this.remote = remote;
            this.rkey = rkey;
            this.depth = depth;
            this.done = WorkCompletion.array(depth);
        }

        private void post(long slot) {
            seed ^= seed << 13;
            seed ^= seed >>> 7;
            seed ^= seed << 17;
            long page = seed & (PAGES - 1);
            queuePair.prepareRead(
                    slot,
                    memory.address() + slot * PAGE,
                    PAGE,
                    region.lkey(),
                    remote + page * PAGE,
                    rkey,
                    SendFlag.SIGNALED);
        }

        private int await() {
            int count = 0;
            while (count == 0) {
                if (!spin) {
                    queue.requestNotification();
                    count = queue.poll(done);
                    if (count > 0) {
                        break;
                    }
                    channel.await(1_000_000_000L);
                }
                count = queue.poll(done);
            }
            for (int i = 0; i < count; i++) {
                if (!done[i].isSuccess()) {
                    throw new IllegalStateException(done[i].toString());
                }
            }
            return count;
        }

        void run(long nanos) {
            samples = 0;
            pages = 0;
            long begin = System.nanoTime();
            long now = begin;
            if (depth == 1) {
                while (now - begin < nanos && samples < times.length) {
                    long start = System.nanoTime();
                    post(0);
                    queuePair.postSend();
                    await();
                    now = System.nanoTime();
                    times[samples++] = now - start;
                }
                pages = samples;
            } else {
                for (int i = 0; i < depth; i++) {
                    post(i);
                }
                queuePair.postSend();
                while (now - begin < nanos) {
                    int count = await();
                    pages += count;
                    for (int i = 0; i < count; i++) {
                        post(done[i].wrId());
                    }
                    queuePair.postSend();
                    now = System.nanoTime();
                }
                for (int left = depth; left > 0; ) {
                    left -= await();
                }
            }
            elapsed = now - begin;
        }

        void print() {
            if (depth == 1) {
                long[] sorted = Arrays.copyOf(times, samples);
                Arrays.sort(sorted);
                System.out.printf(
                        "soft %s depth 1: p50 %.2f p99 %.2f p99.9 %.2f max %.0f us, %d pages%n",
                        spin ? "spin" : "block",
                        sorted[samples / 2] / 1e3,
                        sorted[(int) (samples * 0.99)] / 1e3,
                        sorted[(int) (samples * 0.999)] / 1e3,
                        sorted[samples - 1] / 1e3,
                        samples);
            } else {
                System.out.printf(
                        "soft %s depth %d: %.0f pages/s%n", spin ? "spin" : "block", depth, pages * 1e9 / elapsed);
            }
        }
    }
}
