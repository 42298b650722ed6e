package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Ports;
import io.farpage.it.harness.ProcFs;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * More connections than an agent has descriptors: its guest is served, its log stays short, links come up, and it
 * recovers.
 */
@NeedsUserfaultfd
@Tag("soak")
class DescriptorExhaustionTest {
    private static final int PAGES = 256;
    private static final int LOCAL = 64;
    private static final int SECONDS = 2;
    private static final int LOG_BYTES_PER_SECOND = 4096;

    @Test
    void shouldServeItsGuestAndKeepItsLogShortWhileNoDescriptorIsFree(@TempDir Path directory) throws Exception {
        int port = Ports.free();
        try (Cluster cluster = Cluster.start()) {
            cluster.startAgent("a", Map.of("pool.exported", "16MiB", "tcp.port", Integer.toString(port)));
            cluster.openAgent("b", Map.of("pool.exported", "16MiB"));
            cluster.awaitAllLinks();
            Guests guests = new Guests(cluster, "a", "b");
            Path socket = directory.resolve("socket");
            guests.attach("guest", socket, PAGES * 4096L, LOCAL * 4096L);
            List<SocketChannel> idle = new ArrayList<>();
            try (PagedRam ram = PagedRam.handOver(socket, PAGES)) {
                for (int page = 0; page < PAGES; page++) {
                    ram.write(page, Pages.of(1, page, 4096));
                }
                long agent = cluster.process("a").process().pid();
                int limit = ProcFs.descriptors(agent) + 120;
                limitDescriptors(agent, limit);
                for (int i = 0; i < 200; i++) {
                    idle.add(connect(port));
                    idle.add(connect(cluster.agent("a").rest().base().getPort()));
                }
                int logged = cluster.process("a").process().err().length();
                long begun = System.nanoTime();
                long end = begun + TimeUnit.SECONDS.toNanos(SECONDS);
                while (System.nanoTime() < end) {
                    for (int page = 0; page < PAGES; page += 7) {
                        assertArrayEquals(Pages.of(1, page, 4096), ram.read(page));
                    }
                }
                int used = ProcFs.descriptors(agent);
                assertTrue(
                        used < limit - limit / 16,
                        () -> "half of the reserve is used up: " + used + " of " + limit + ", "
                                + ProcFs.descriptorKinds(agent));
                cluster.openAgent("c", Map.of("pool.exported", "16MiB"));
                await("a link comes up on the reserve", Deadlines.LONG)
                        .ignoreExceptions()
                        .until(() -> cluster.agent("c").isLinkedTo("a"));
                int more = cluster.process("a").process().err().length() - logged;
                double seconds = (System.nanoTime() - begun) / 1e9;
                assertTrue(
                        more < seconds * LOG_BYTES_PER_SECOND,
                        more + " bytes of log in " + seconds + " s:\n" + cluster.describe());
                for (SocketChannel connection : idle) {
                    connection.close();
                }
                await("the REST interface answers again", Duration.ofSeconds(30))
                        .ignoreExceptions()
                        .until(() -> cluster.agent("a").rest().get("/health").status() == 200);
            }
            guests.awaitEnded("guest");
        }
    }

    /** Begins to connect. The agent may leave the connection in the kernel's queue, or the queue may be full. */
    private static SocketChannel connect(int port) throws IOException {
        SocketChannel channel = SocketChannel.open();
        channel.configureBlocking(false);
        channel.connect(new InetSocketAddress("127.0.0.1", port));
        return channel;
    }

    private static void limitDescriptors(long pid, int most) throws IOException, InterruptedException {
        int exit = new ProcessBuilder("prlimit", "--pid", Long.toString(pid), "--nofile=" + most + ":" + most)
                .inheritIO()
                .start()
                .waitFor();
        assumeTrue(exit == 0, "prlimit (util-linux) is missing, or may not limit another process");
    }
}
