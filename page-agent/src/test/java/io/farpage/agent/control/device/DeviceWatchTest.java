package io.farpage.agent.control.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What becomes of asynchronous events. */
final class DeviceWatchTest implements DeviceWatch.Listener {
    private static final int POOL_BYTES = 2 << 20;

    private final PagePool pool = pool();
    private final Transports transports = Transports.open(
            TransportMode.AUTO,
            new SoftProvider(SoftOptions.DEFAULT),
            new SoftProvider(SoftOptions.DEFAULT),
            pool,
            System::nanoTime);
    private final OpenDevice device = transports.devices().getFirst();
    private final DeviceWatch watch = new DeviceWatch(transports, this, System::nanoTime);
    private final List<String> told = new ArrayList<>();

    private static PagePool pool() {
        try {
            return PagePool.open(PoolConfig.of("a", 1, POOL_BYTES, POOL_BYTES)
                    .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        } catch (PoolException e) {
            throw new IllegalStateException(e);
        }
    }

    @AfterEach
    void close() {
        transports.close();
        pool.close();
    }

    @Override
    public void found(OpenDevice found) {
        told.add("found " + found);
    }

    @Override
    public void removed(OpenDevice removed) {
        told.add("removed " + removed);
    }

    @Override
    public void changed(OpenDevice changed) {
        told.add("changed " + changed);
    }

    @Override
    public void completionQueueFailed(OpenDevice failed) {
        told.add("completion queue failed " + failed);
    }

    @Override
    public void queuePairFailed(OpenDevice failed, int qpn) {
        told.add("queue pair " + qpn + " failed " + failed);
    }

    @Override
    public CompletableFuture<Void> abandon(OpenDevice abandoned) {
        told.add("abandon " + abandoned);
        return CompletableFuture.completedFuture(null);
    }

    private List<String> after(AsyncEvent.Type event, int element) {
        watch.handle(device, new AsyncEvent(event, element));
        return told;
    }

    @Test
    void shouldHaveRdmaTriedAgainWhenAGidHasChanged() {
        assertEquals(List.of("changed soft0"), after(AsyncEvent.Type.GID_CHANGE, 1));
    }

    @Test
    void shouldFailWhatTheDeviceSaysHasFailed() {
        assertEquals(List.of("completion queue failed soft0"), after(AsyncEvent.Type.CQ_ERR, 0));
        told.clear();
        assertEquals(List.of("queue pair 17 failed soft0"), after(AsyncEvent.Type.QP_FATAL, 17));
    }

    @Test
    void shouldOnlyLogThatAQueuePairIsEstablished() {
        assertEquals(List.of(), after(AsyncEvent.Type.COMM_EST, 17));
    }
}
