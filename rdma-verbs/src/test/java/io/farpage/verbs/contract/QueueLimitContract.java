package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueueFullException;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import org.junit.jupiter.api.Test;

/** Queues hold what they promise, say when they are full, and never lose a completion. */
public abstract class QueueLimitContract {
    protected abstract VerbsFixture open();

    @Test
    void shouldRefuseSendWhenQueueIsFullAndAcceptAgainAfterPoll() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            int capacity = pair.qpA.options().sizes().maxSendWr();
            assertEquals(capacity, pair.qpA.sendQueueSpace());
            for (int i = 0; i < capacity; i++) {
                prepare(pair, i);
            }
            assertEquals(0, pair.qpA.sendQueueSpace());
            QueueFullException full = assertThrows(QueueFullException.class, () -> prepare(pair, 999));
            assertTrue(String.valueOf(full.getMessage()).contains("max_send_wr"), full::toString);
            pair.qpA.postSend();
            for (int i = 0; i < capacity; i++) {
                pair.a.polling().success(i);
            }
            assertEquals(capacity, pair.qpA.sendQueueSpace());
            pair.requireWorking();
        }
    }

    private static void prepare(Connected pair, long wrId) {
        pair.qpA.prepareRead(
                wrId,
                pair.a.address(0),
                64,
                pair.a.region.lkey(),
                pair.b.address(0),
                pair.b.region.rkey(),
                SendFlag.SIGNALED);
    }

    @Test
    void shouldRefuseReceiveWhenQueueIsFull() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            int capacity = pair.qpB.options().sizes().maxRecvWr();
            for (int i = 0; i < capacity; i++) {
                pair.receive(i, 0, 64);
            }
            QueueFullException full = assertThrows(QueueFullException.class, () -> pair.receive(999, 0, 64));
            assertTrue(String.valueOf(full.getMessage()).contains("max_recv_wr"), full::toString);
            for (int i = 0; i < capacity; i++) {
                pair.send(i, 0, 64);
                pair.a.polling().success(i);
            }
            for (int i = 0; i < capacity; i++) {
                pair.b.polling().success(i);
            }
            pair.receive(1000, 0, 64);
        }
    }

    @Test
    void shouldRefuseAQueuePairWhoseCompletionsWouldNotFit() {
        try (VerbsFixture fixture = open();
                Side side = new Side(fixture.a())) {
            CompletionQueue small = side.keep(side.device.createCompletionQueue(64));
            int capacity = small.capacity();
            assertTrue(capacity >= 64);
            QpOptions half = Connected.OPTIONS.withSizes(new QpOptions.Sizes(capacity / 2, capacity / 4, 1, 0, 16));
            QueuePair first = side.keep(side.domain.createQueuePair(small, small, half));
            VerbsException refused =
                    assertThrows(VerbsException.class, () -> side.domain.createQueuePair(small, small, half));
            assertTrue(String.valueOf(refused.getMessage()).length() > 20, refused::toString);
            first.close();
            side.keep(side.domain.createQueuePair(small, small, half));
        }
    }

    @Test
    void shouldLoseNoCompletionWhenPollsAreFarApart() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            for (int i = 0; i < 64; i++) {
                pair.receive(i, i * 64L, 64);
            }
            for (int i = 0; i < 64; i++) {
                pair.send(i, 0, 64);
            }
            for (int i = 0; i < 64; i++) {
                pair.a.polling().success(i);
            }
            for (int i = 0; i < 64; i++) {
                pair.b.polling().success(i);
            }
        }
    }

    @Test
    void shouldRefuseInlineDataBeyondMaxInlineData() {
        try (Connected pair =
                new Connected(open(), Connected.OPTIONS.withSizes(new QpOptions.Sizes(64, 64, 1, 32, 16)))) {
            int tooMuch = pair.qpA.options().sizes().maxInlineData() + 1;
            assertThrows(VerbsException.class, () -> {
                pair.qpA.prepareSend(
                        1, pair.a.address(0), tooMuch, pair.a.region.lkey(), SendFlag.INLINE | SendFlag.SIGNALED);
                pair.qpA.postSend();
            });
            pair.requireWorking();
        }
    }

    @Test
    void shouldRefuseMoreEntriesThanMaxSge() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            int key = pair.a.region.lkey();
            int more = pair.qpA.options().sizes().maxSge();
            assertThrows(IllegalStateException.class, () -> pair.qpA.appendSge(pair.a.address(0), 8, key));
            pair.qpA.prepareWrite(
                    1, pair.a.address(0), 8, key, pair.b.address(0), pair.b.region.rkey(), SendFlag.SIGNALED);
            for (int i = 1; i < more; i++) {
                pair.qpA.appendSge(pair.a.address(0), 8, key);
            }
            assertThrows(IllegalStateException.class, () -> pair.qpA.appendSge(pair.a.address(0), 8, key));
        }
    }

    @Test
    void shouldClampOptionsToTheDevicesLimits() {
        try (VerbsFixture fixture = open();
                Side side = new Side(fixture.a())) {
            int limit = side.device.attributes().maxQpRdAtom();
            QueuePair queuePair = side.queuePair(Connected.OPTIONS.withSizes(new QpOptions.Sizes(64, 64, 1, 0, 255)));
            assertTrue(queuePair.options().sizes().maxRdAtomic() <= Math.max(1, limit));
            assertTrue(queuePair.options().sizes().maxRdAtomic() >= 1);
        }
    }
}
