package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.QueuePair;
import io.farpage.verbs.ResourceBusyException;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.SharedReceiveQueue;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcStatus;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Several queue pairs take their receives from one queue. */
public abstract class SharedReceiveContract {
    protected abstract VerbsFixture open();

    @Test
    void shouldServeTwoQueuePairsFromOneQueue() {
        try (VerbsFixture fixture = open();
                Side a = new Side(fixture.a());
                Side b = new Side(fixture.b())) {
            Assumptions.assumeTrue(b.device.attributes().maxSrqWr() > 0, "the device has no shared receive queues");
            SharedReceiveQueue shared = b.keep(b.domain.createSharedReceiveQueue(32, 1));
            QueuePair[] callers = new QueuePair[2];
            Set<Integer> called = new HashSet<>();
            for (int i = 0; i < 2; i++) {
                QueuePair other =
                        b.keep(b.domain.createQueuePair(b.completions, b.completions, shared, Connected.OPTIONS));
                callers[i] = a.queuePair(Connected.OPTIONS);
                Connected.connect(callers[i], other);
                called.add(other.qpn());
                assertThrows(VerbsException.class, () -> {
                    other.prepareRecv(1, b.address(0), 8, b.region.lkey());
                    other.postRecv();
                });
            }
            assertThrows(ResourceBusyException.class, shared::close);
            Set<Integer> seen = new HashSet<>();
            Set<Long> ids = new HashSet<>();
            // More than the queue holds, so that slots must be used again.
            for (int round = 0; round < 100; round++) {
                shared.prepareRecv(2L * round, b.address(0), 64, b.region.lkey());
                shared.prepareRecv(2L * round + 1, b.address(64), 64, b.region.lkey());
                shared.postRecv();
                for (QueuePair caller : callers) {
                    caller.prepareSend(round, a.address(0), 64, a.region.lkey(), SendFlag.SIGNALED);
                    caller.postSend();
                }
                a.polling().next(2).forEach(c -> assertEquals(WcStatus.SUCCESS, c.status(), c::toString));
                b.polling().next(2).forEach(c -> {
                    assertEquals(WcStatus.SUCCESS, c.status(), c::toString);
                    seen.add(c.qpn());
                    assertTrue(ids.add(c.wrId()));
                });
            }
            assertEquals(called, seen);
            assertEquals(200, ids.size());
        }
    }
}
