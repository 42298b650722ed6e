package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** A peer that goes away is noticed within the retry budget; a new one can take its place. */
public abstract class PeerLossContract {
    /** Gives up after 4.096 µs × 2^14 × 4, about a quarter of a second (devices may take up to four times as long). */
    private static final QpOptions IMPATIENT = Connected.withRetries(14, 3, 3, 12);
    /** For requests that must fail. */
    private static final QpOptions HASTY = Connected.withRetries(12, 3, 3, 12);

    protected abstract VerbsFixture open();

    @Test
    void shouldFailReadWhenPeerQueuePairIsClosed() {
        try (Connected pair = new Connected(open(), IMPATIENT)) {
            pair.requireWorking();
            pair.qpB.close();
            pair.read(1, 0, 0, 4096);
            pair.read(2, 0, 0, 4096);
            pair.a.polling().expect(1, WcStatus.RETRY_EXC_ERR);
            pair.a.polling().expect(2, WcStatus.WR_FLUSH_ERR);
            Connected.awaitError(pair.qpA);
        }
    }

    @Test
    void shouldFailReadWhenPeerQueuePairIsInError() {
        try (Connected pair = new Connected(open(), HASTY)) {
            pair.qpB.modifyToErr();
            pair.read(1, 0, 0, 4096);
            pair.a.polling().expect(1, WcStatus.RETRY_EXC_ERR);
        }
    }

    @Test
    void shouldFailReadWhenPeerQueuePairNeverIsReady() {
        try (VerbsFixture fixture = open();
                Side a = new Side(fixture.a());
                Side b = new Side(fixture.b())) {
            QueuePair caller = a.queuePair(HASTY);
            QueuePair sleeper = b.queuePair(HASTY);
            caller.modifyToInit();
            caller.modifyToRtr(sleeper.endpoint());
            caller.modifyToRts();
            caller.prepareRead(1, a.address(0), 64, a.region.lkey(), b.address(0), b.region.rkey(), SendFlag.SIGNALED);
            caller.postSend();
            a.polling().expect(1, WcStatus.RETRY_EXC_ERR);
        }
    }

    @Test
    void shouldWaitForAQueuePairThatBecomesReadyLate() {
        QpOptions patient = Connected.withRetries(18, 7, 7, 12);
        try (VerbsFixture fixture = open();
                Side a = new Side(fixture.a());
                Side b = new Side(fixture.b())) {
            QueuePair early = a.queuePair(patient);
            QueuePair late = b.queuePair(patient);
            early.modifyToInit();
            early.modifyToRtr(late.endpoint());
            early.modifyToRts();
            early.prepareRead(1, a.address(0), 64, a.region.lkey(), b.address(0), b.region.rkey(), SendFlag.SIGNALED);
            early.postSend();
            for (int i = 0; i < 1000; i++) {
                assertEquals(0, a.polling().pollOnce());
            }
            late.modifyToInit();
            late.modifyToRtr(early.endpoint());
            a.polling().success(1);
        }
    }

    @Test
    void shouldRefuseAPeerWithAnotherPsn() {
        try (VerbsFixture fixture = open();
                Side a = new Side(fixture.a());
                Side b = new Side(fixture.b())) {
            QueuePair caller = a.queuePair(HASTY);
            QueuePair called = b.queuePair(HASTY);
            var told = caller.endpoint();
            caller.modifyToInit();
            called.modifyToInit();
            caller.modifyToRtr(called.endpoint());
            called.modifyToRtr(new io.farpage.verbs.QpEndpoint(
                    told.qpn(), told.lid(), told.gid(), (told.psn() + 0x40_0000) & 0xFF_FFFF));
            caller.modifyToRts();
            caller.prepareRead(1, a.address(0), 64, a.region.lkey(), b.address(0), b.region.rkey(), SendFlag.SIGNALED);
            caller.postSend();
            a.polling().expect(1, WcStatus.RETRY_EXC_ERR);
        }
    }

    @Test
    void shouldReconnectAfterReset() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            for (int i = 0; i < 20; i++) {
                pair.requireWorking();
                pair.qpA.modifyToReset();
                pair.qpB.modifyToReset();
                Connected.connect(pair.qpA, pair.qpB);
            }
            pair.requireWorking();
        }
    }

    @Test
    void shouldFailReadWhenPeerIsKilledAndThenReachItsSuccessor() throws IOException {
        try (VerbsFixture fixture = open();
                Side a = new Side(fixture.a())) {
            QueuePair queuePair = a.queuePair(IMPATIENT);
            try (PeerProcess peer = PeerProcess.start(fixture)) {
                peer.connect(queuePair);
                queuePair.modifyToRts();
                peer.read(queuePair, a, 1);
                a.polling().success(1);
                assertEquals(-1, a.mismatch(0, PeerProcess.LENGTH, PeerProcess.SEED));
                peer.kill();
                // At least one of these is posted after the peer has ended.
                peer.read(queuePair, a, 2);
                a.polling().expect(2, WcStatus.RETRY_EXC_ERR);
            }
            queuePair.modifyToReset();
            try (PeerProcess successor = PeerProcess.start(fixture)) {
                successor.connect(queuePair);
                queuePair.modifyToRts();
                successor.read(queuePair, a, 3);
                a.polling().success(3);
            }
        }
    }
}
