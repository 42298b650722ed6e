package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.SendFlag;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The serving side is told why its queue pair went to ERR. */
final class AsyncEventTest {
    @Test
    void shouldRaiseEventsOfAnAccessErrorAndOfAnInvalidRequest() throws InterruptedException {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            pair.from.prepareRead(
                    1, pair.callerMemory.address(), 8, pair.callerRegion.lkey(), 0, 1234, SendFlag.SIGNALED);
            pair.from.postSend();
            pair.spin();
            assertEquals(
                    new AsyncEvent(AsyncEvent.Type.QP_ACCESS_ERR, pair.to.qpn()),
                    pair.server.awaitAsyncEvent(Duration.ofSeconds(10)).orElseThrow());

            pair.from.modifyToReset();
            pair.to.modifyToReset();
            pair.connect();
            pair.to.prepareRecv(3, pair.serverMemory.address(), 8, pair.serverRegion.lkey());
            pair.to.postRecv();
            pair.from.prepareSend(2, pair.callerMemory.address(), 16, pair.callerRegion.lkey(), SendFlag.SIGNALED);
            pair.from.postSend();
            pair.spin();
            assertEquals(
                    new AsyncEvent(AsyncEvent.Type.QP_REQ_ERR, pair.to.qpn()),
                    pair.server.awaitAsyncEvent(Duration.ofSeconds(10)).orElseThrow());
            assertTrue(pair.server.awaitAsyncEvent(Duration.ZERO).isEmpty());
        }
    }
}
