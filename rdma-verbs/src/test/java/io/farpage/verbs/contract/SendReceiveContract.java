package io.farpage.verbs.contract;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.util.EnumSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** SENDs meet the receives that the peer posted, in order. */
public abstract class SendReceiveContract {
    protected abstract VerbsFixture open();

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4096, 70_000, 500_000})
    void shouldDeliverASend(int length) {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.receive(5, 64, length + 10);
            pair.a.fill(0, length, 1);
            pair.send(6, 0, length);
            pair.a.polling().success(6);
            WorkCompletion received = pair.b.polling().success(5);
            assertEquals(WcOpcode.RECV, received.opcode());
            assertEquals(length, received.byteLength());
            assertEquals(pair.qpB.qpn(), received.qpn());
            assertEquals(-1, pair.b.mismatch(64, length, 1));
        }
    }

    @Test
    void shouldDeliverSendsInOrderIntoReceivesInOrder() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            for (int i = 0; i < 32; i++) {
                pair.qpB.prepareRecv(100 + i, pair.b.address(i * 1024L), 1024, pair.b.region.lkey());
                pair.a.fill(i * 1024L, 1024, i);
            }
            pair.qpB.postRecv();
            for (int i = 0; i < 32; i++) {
                pair.qpA.prepareSend(i, pair.a.address(i * 1024L), 1024 - i, pair.a.region.lkey(), SendFlag.SIGNALED);
            }
            pair.qpA.postSend();
            for (int i = 0; i < 32; i++) {
                pair.a.polling().success(i);
                assertEquals(1024 - i, pair.b.polling().success(100 + i).byteLength());
                assertEquals(-1, pair.b.mismatch(i * 1024L, 1024 - i, i));
            }
        }
    }

    @Test
    void shouldGatherAndScatterOverSeveralEntries() {
        try (Connected pair =
                new Connected(open(), Connected.OPTIONS.withSizes(new QpOptions.Sizes(64, 64, 3, 0, 16)))) {
            pair.a.fill(0, 3000, 4);
            int keyA = pair.a.region.lkey();
            int keyB = pair.b.region.lkey();
            pair.qpB.prepareRecv(1, pair.b.address(0), 100, keyB);
            pair.qpB.appendRecvSge(pair.b.address(1000), 2000, keyB);
            pair.qpB.appendRecvSge(pair.b.address(5000), 2000, keyB);
            pair.qpB.postRecv();
            pair.qpA.prepareSend(2, pair.a.address(0), 1500, keyA, SendFlag.SIGNALED);
            pair.qpA.appendSge(pair.a.address(1500), 0, keyA);
            pair.qpA.appendSge(pair.a.address(1500), 1500, keyA);
            pair.qpA.prepareRead(
                    3, pair.a.address(10_000), 50, keyA, pair.b.address(1000), pair.b.region.rkey(), SendFlag.SIGNALED);
            pair.qpA.appendSge(pair.a.address(20_000), 1950, keyA);
            pair.qpA.postSend();
            pair.a.polling().success(2);
            assertEquals(2000, pair.a.polling().success(3).byteLength());
            assertEquals(3000, pair.b.polling().success(1).byteLength());
            assertEquals(-1, pair.a.memory.asSlice(0, 100).mismatch(pair.b.memory.asSlice(0, 100)));
            assertEquals(-1, pair.a.memory.asSlice(100, 2000).mismatch(pair.b.memory.asSlice(1000, 2000)));
            assertEquals(-1, pair.a.memory.asSlice(2100, 900).mismatch(pair.b.memory.asSlice(5000, 900)));
            assertEquals(-1, pair.b.memory.asSlice(1000, 50).mismatch(pair.a.memory.asSlice(10_000, 50)));
            assertEquals(-1, pair.b.memory.asSlice(1050, 1950).mismatch(pair.a.memory.asSlice(20_000, 1950)));
        }
    }

    @Test
    void shouldSendInlineDataAsItWasWhenPrepared() {
        QpOptions options = Connected.OPTIONS.withSizes(new QpOptions.Sizes(64, 64, 1, 64, 16));
        try (Connected pair = new Connected(open(), options)) {
            pair.receive(1, 0, 64);
            pair.a.fill(0, 64, 5);
            pair.qpA.prepareSend(2, pair.a.address(0), 64, 0, SendFlag.SIGNALED | SendFlag.INLINE);
            pair.a.fill(0, 64, 6);
            pair.qpA.postSend();
            pair.a.polling().success(2);
            pair.b.polling().success(1);
            assertEquals(-1, pair.b.mismatch(0, 64, 5));
        }
    }

    @Test
    void shouldRefuseASendThatIsTooLongForItsReceive() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.b.memory.asSlice(0, 200).fill((byte) 0x11);
            pair.receive(1, 0, 100);
            pair.receive(2, 0, 100);
            pair.send(3, 0, 101);
            pair.send(4, 0, 1);
            pair.a.polling().expect(3, pair.fixture.reported(WcStatus.REM_INV_REQ_ERR));
            pair.a.polling().expect(4, WcStatus.WR_FLUSH_ERR);
            WorkCompletion refused = pair.b.polling().next();
            assertEquals(1, refused.wrId());
            // The specification says local length error; some software devices repeat what they told the requester.
            assertTrue(
                    EnumSet.of(WcStatus.LOC_LEN_ERR, WcStatus.REM_INV_REQ_ERR).contains(refused.status())
                            || pair.fixture.reported(WcStatus.LOC_LEN_ERR).contains(refused.status()),
                    refused::toString);
            pair.b.polling().expect(2, WcStatus.WR_FLUSH_ERR);
            Connected.awaitError(pair.qpA);
            Connected.awaitError(pair.qpB);
            for (int i = 100; i < 200; i++) {
                assertEquals(0x11, pair.b.memory.get(JAVA_BYTE, i));
            }
        }
    }

    @Test
    void shouldWaitForAReceiveThatIsPostedLater() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.send(1, 0, 100);
            for (int i = 0; i < 1000; i++) {
                assertEquals(0, pair.a.polling().pollOnce());
            }
            pair.receive(2, 0, 100);
            pair.a.polling().success(1);
            pair.b.polling().success(2);
        }
    }

    @Test
    void shouldFailSendWhenNoReceiveIsPosted() {
        QpOptions options = Connected.withRetries(14, 7, 2, 12);
        try (Connected pair = new Connected(open(), options)) {
            pair.send(1, 0, 100);
            pair.send(2, 0, 100);
            pair.a.polling().expect(1, WcStatus.RNR_RETRY_EXC_ERR);
            pair.a.polling().expect(2, WcStatus.WR_FLUSH_ERR);
            Connected.awaitError(pair.qpA);
            assertEquals(QpState.RTS, pair.qpB.state());
        }
    }
}
