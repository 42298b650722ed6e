package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.CheckedPages;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.Soak;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How fast the pages of a killed home are copied under load, and what accesses of the guest cost meanwhile. */
@NeedsUserfaultfd
@Tag("soak")
@Tag("measurement")
class RepairRateTest {
    private static final int PAGE = 4096;
    private static final List<String> HOMES = List.of("b", "c", "d");

    @SuppressWarnings("NullAway.Init") // set by each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    @AfterEach
    void end() {
        cluster.close();
    }

    private void awaitHomes(String alias, Predicate<Set<String>> condition) {
        await(alias, Deadlines.LONG)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> cluster.client().extents("vm").orElseThrow().extents().stream()
                        .map(extent ->
                                extent.homes().stream().map(ExtentHome::node).collect(Collectors.toSet()))
                        .allMatch(condition));
    }

    /**
     * Prints how fast the pages of a killed home are copied, at the rate of the configuration and without a limit, and
     * how long accesses take meanwhile.
     */
    @ParameterizedTest
    @ValueSource(strings = {"100MiB", "16GiB"})
    void shouldRepairManyPagesUnderLoad(String limit) throws Exception {
        int pages = Math.max(32_768, Soak.part(131_072));
        cluster = Cluster.start();
        cluster.openAgent("a", Map.of("pool.exported", "2MiB", "mirror.repair_rate", limit));
        String pool = (long) pages * PAGE + (2L << 20) + "B";
        HOMES.forEach(node -> cluster.launchAgent(node, Map.of("pool.exported", pool, "mirror.repair_rate", limit)));
        cluster.awaitAllLinks();
        Guests guests = new Guests(cluster, "a", "b");
        cluster.client()
                .createSpace(new SpaceRequest(
                                "vm", (long) pages * PAGE, OptionalInt.of(PAGE), Optional.of(List.of("b", "c")))
                        .withReplicas(2));
        guests.attach("vm", directory.resolve("vm"), (long) pages * PAGE, pages / 4L * PAGE);
        PagedRam ram = PagedRam.handOver(directory.resolve("vm"), pages);
        try (CheckedPages load = CheckedPages.start(ram, pages, 5)) {
            for (int i = 0; i < 8; i++) {
                load.awaitAccesses(pages / 2);
            }
            load.takeLatencies();
            load.awaitAccesses(pages / 4);
            Histogram usual = load.takeLatencies();
            double loopback = medianLoopbackBytesPerSecond();
            cluster.process("b").process().kill();
            awaitHomes("the drop of b", homes -> !homes.contains("b"));
            long begun = System.nanoTime();
            load.takeLatencies();
            awaitHomes("homes c and d", Set.of("c", "d")::equals);
            double seconds = (System.nanoTime() - begun) / 1e9;
            Histogram meanwhile = load.takeLatencies();
            long again = guests.status("vm").get("repairedPages").asLong();
            double rate = pages * (double) PAGE / seconds;
            System.out.printf(
                    "repair of %d pages at most %s/s, %d of them copied again since the guest's agent wrote them:"
                            + " %.2f s from the drop of the home to the last promotion: %.0f MiB/s, %.2fx of the %.0f"
                            + " MiB/s that the loopback moves (TCP, one connection, 128 KiB, median of 5); transport"
                            + " tcp, page 4096, one host, guest load beside%n",
                    pages, limit, again, seconds, rate / 1048576, rate / loopback, loopback / 1048576);
            print("before", usual);
            print("during", meanwhile);
            load.stop();
            assertEquals(List.of(), load.faults());
            ram.close();
            guests.awaitEnded("vm");
            for (int page = 0; page < pages; page += pages / 91) {
                assertArrayEquals(
                        load.content(page),
                        cluster.agent("a").page("vm", page).expect(200).body(),
                        "page " + page);
            }
        }
    }

    private static void print(String when, Histogram accesses) {
        System.out.printf(
                "accesses %s: p50 %.0f us, p99 %.0f us, p99.9 %.0f us, max %.1f ms, count %d%n",
                when,
                accesses.getValueAtPercentile(50) / 1e3,
                accesses.getValueAtPercentile(99) / 1e3,
                accesses.getValueAtPercentile(99.9) / 1e3,
                accesses.getMaxValue() / 1e6,
                accesses.getTotalCount());
    }

    private static double medianLoopbackBytesPerSecond() throws Exception {
        double[] rates = new double[5];
        for (int i = 0; i < rates.length; i++) {
            rates[i] = loopbackBytesPerSecond();
        }
        Arrays.sort(rates);
        return rates[rates.length / 2];
    }

    /** What one TCP connection on the loopback moves, with the load of the guest beside it. */
    private static double loopbackBytesPerSecond() throws Exception {
        long bytes = 256L << 20;
        byte[] chunk = new byte[128 << 10];
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort());
                Socket accepted = server.accept()) {
            client.setSoTimeout((int) Deadlines.of(Deadlines.LONG).toMillis());
            long begun = System.nanoTime();
            Thread sender = Thread.ofPlatform().start(() -> {
                try {
                    for (long sent = 0; sent < bytes; sent += chunk.length) {
                        accepted.getOutputStream().write(chunk);
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            byte[] into = new byte[chunk.length];
            for (long got = 0; got < bytes; ) {
                got += client.getInputStream().read(into);
            }
            sender.join();
            return bytes * 1e9 / (System.nanoTime() - begun);
        }
    }
}
