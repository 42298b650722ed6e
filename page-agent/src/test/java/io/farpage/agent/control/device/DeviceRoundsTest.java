package io.farpage.agent.control.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.hugepages.HugepageSize;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The rounds of the watch, with devices that come and go and a clock that is set by hand. */
final class DeviceRoundsTest {
    private static final int POOL_BYTES = 2 << 20;

    private final FakeRdma rdma = new FakeRdma("mlx5_0");
    private final List<String> notices = new ArrayList<>();
    private CompletableFuture<Void> unused = new CompletableFuture<>();
    private long now;
    private PagePool pool;
    private Transports transports;
    private DeviceWatch watch;

    @BeforeEach
    void open() throws PoolException {
        pool = PagePool.open(
                PoolConfig.of("a", 1, POOL_BYTES, POOL_BYTES).withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        transports = Transports.open(TransportMode.AUTO, rdma, FakeRdma.tcp(), pool, () -> now);
        rdma.probed.clear();
        watch = new DeviceWatch(transports, new Listener(), () -> now);
    }

    @AfterEach
    void close() {
        transports.close();
        pool.close();
    }

    private final class Listener implements DeviceWatch.Listener {
        @Override
        public void found(OpenDevice device) {
            notices.add("found " + device);
        }

        @Override
        public void removed(OpenDevice device) {
            notices.add("removed " + device);
        }

        @Override
        public void changed(OpenDevice device) {
            notices.add("changed " + device);
        }

        @Override
        public void completionQueueFailed(OpenDevice failed) {}

        @Override
        public void queuePairFailed(OpenDevice failed, int qpn) {}

        @Override
        public CompletableFuture<Void> abandon(OpenDevice device) {
            notices.add("abandon " + device);
            return unused;
        }
    }

    private List<String> round() throws InterruptedException {
        notices.clear();
        watch.watch();
        return List.copyOf(notices);
    }

    /** As udev does soon after a device appeared. */
    @Test
    void shouldKeepADeviceThatIsRenamed() throws Exception {
        rdma.present.remove("mlx5_0");
        rdma.present.add("rocep59s0f0");
        rdma.renamed.put("mlx5_0", "rocep59s0f0");
        assertEquals(List.of(), round());
        assertEquals(List.of(), round());
        assertEquals(List.of("mlx5_0"), rdma.opened);
    }

    @Test
    void shouldOpenALostDeviceAgainAlthoughItWasInUseForLong() throws Exception {
        rdma.present.remove("mlx5_0");
        assertEquals(List.of("abandon mlx5_0"), round());
        now += Duration.ofMinutes(1).toNanos();
        rdma.present.add("mlx5_0");
        assertEquals(List.of(), round());
        unused.complete(null);
        assertEquals(List.of("removed mlx5_0", "found mlx5_0"), round());
        assertEquals(DeviceState.USABLE, transports.devices().getFirst().state());
        assertEquals(List.of("mlx5_0", "mlx5_0"), rdma.opened);
    }

    @Test
    void shouldProbeNoDeviceThatIsOpen() throws Exception {
        round();
        assertEquals(List.of(), rdma.probed);
        rdma.present.add("mlx5_1");
        assertEquals(List.of("found mlx5_1"), round());
        assertEquals(List.of("mlx5_1"), rdma.probed);
        assertEquals(List.of("mlx5_0", "mlx5_1"), rdma.opened);
    }

    @Test
    void shouldProbeADeviceThatIsNotUsableAfterPausesThatGrow() throws Exception {
        rdma.present.add("mlx5_1");
        rdma.down.add("mlx5_1");
        Duration pause = Duration.ofSeconds(1);
        for (int refusals = 1; refusals < 8; refusals++) {
            round();
            round();
            assertEquals(refusals, rdma.probed.size());
            now += pause.toNanos() - 1;
            round();
            assertEquals(refusals, rdma.probed.size(), "after " + pause);
            now++;
            pause = pause.equals(RefusedDevices.LONGEST_PAUSE) ? pause : pause.multipliedBy(2);
        }
        rdma.down.clear();
        assertEquals(List.of("found mlx5_1"), round());
    }

    @Test
    void shouldProbeADeviceAtOnceThatWasAwayMeanwhile() throws Exception {
        rdma.present.add("mlx5_1");
        rdma.down.add("mlx5_1");
        round();
        rdma.down.clear();
        assertEquals(List.of(), round());
        rdma.present.remove("mlx5_1");
        round();
        rdma.present.add("mlx5_1");
        assertEquals(List.of("found mlx5_1"), round());
    }

    @Test
    void shouldKeepTheFindingOfAnOpenDeviceWhenAnotherIsRefused() throws Exception {
        rdma.present.add("mlx5_1");
        rdma.down.add("mlx5_1");
        round();
        assertEquals(
                new Finding("fake", true, "device mlx5_0", ""),
                transports.findings().getFirst());
    }

    @Test
    void shouldWatchOtherDevicesWhileALostOneIsInUse() throws Exception {
        rdma.present.remove("mlx5_0");
        assertEquals(List.of("abandon mlx5_0"), round());
        rdma.present.add("mlx5_1");
        assertEquals(List.of("found mlx5_1"), round());
    }

    @Test
    void shouldLeaveALostDeviceAgainWhenThatHasFailed() throws Exception {
        rdma.present.remove("mlx5_0");
        unused.completeExceptionally(new IllegalStateException("for a test"));
        assertEquals(List.of("abandon mlx5_0", "abandon mlx5_0"), round());
        unused = CompletableFuture.completedFuture(null);
        assertEquals(List.of("abandon mlx5_0"), round());
        assertEquals(List.of("removed mlx5_0"), round());
    }
}
