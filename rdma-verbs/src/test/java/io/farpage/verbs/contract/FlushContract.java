package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.verbs.QpState;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import org.junit.jupiter.api.Test;

/** In ERR everything outstanding comes back flushed; in RESET it is forgotten. */
public abstract class FlushContract {
    protected abstract VerbsFixture open();

    @Test
    void shouldFlushReceivesInOrderOnError() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            for (int i = 0; i < 10; i++) {
                pair.receive(i, 0, 64);
            }
            pair.qpB.modifyToErr();
            for (int i = 0; i < 10; i++) {
                pair.b.polling().expect(i, WcStatus.WR_FLUSH_ERR);
            }
            assertEquals(0, pair.b.polling().pollOnce());
        }
    }

    @Test
    void shouldFlushSendsThatWaitForAReceive() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.send(1, 0, 64);
            pair.send(2, 0, 64);
            pair.qpA.modifyToErr();
            pair.a.polling().expect(1, WcStatus.WR_FLUSH_ERR);
            pair.a.polling().expect(2, WcStatus.WR_FLUSH_ERR);
        }
    }

    @Test
    void shouldFlushRequestsThatArePostedInError() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.qpA.modifyToErr();
            pair.read(1, 0, 0, 64);
            pair.a.polling().expect(1, WcStatus.WR_FLUSH_ERR);
            pair.qpB.modifyToErr();
            pair.receive(2, 0, 64);
            pair.b.polling().expect(2, WcStatus.WR_FLUSH_ERR);
        }
    }

    @Test
    void shouldFlushWhatIsPreparedWhenTheErrorComes() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.qpA.prepareRead(
                    1,
                    pair.a.address(0),
                    64,
                    pair.a.region.lkey(),
                    pair.b.address(0),
                    pair.b.region.rkey(),
                    SendFlag.SIGNALED);
            pair.qpA.modifyToErr();
            pair.qpA.postSend();
            pair.a.polling().expect(1, WcStatus.WR_FLUSH_ERR);
            assertEquals(0, pair.a.polling().pollOnce());
        }
    }

    @Test
    void shouldReportUnsignaledWorkThatFails() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.qpA.prepareRead(
                    1, pair.a.address(0), 8, pair.a.region.lkey(), pair.b.address(-8), pair.b.region.rkey(), 0);
            pair.qpA.prepareRead(
                    2, pair.a.address(0), 8, pair.a.region.lkey(), pair.b.address(0), pair.b.region.rkey(), 0);
            pair.qpA.postSend();
            pair.a.polling().expect(1, WcStatus.REM_ACCESS_ERR);
            pair.a.polling().expect(2, WcStatus.WR_FLUSH_ERR);
        }
    }

    @Test
    void shouldReportUnsignaledWriteThatIsRefused() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            for (int wrId = 1; wrId <= 3; wrId++) {
                long to = pair.b.address(wrId == 2 ? -8 : 0);
                pair.qpA.prepareWrite(wrId, pair.a.address(0), 8, pair.a.region.lkey(), to, pair.b.region.rkey(), 0);
            }
            pair.qpA.postSend();
            pair.a.polling().expect(2, WcStatus.REM_ACCESS_ERR);
            pair.a.polling().expect(3, WcStatus.WR_FLUSH_ERR);
        }
    }

    @Test
    void shouldDiscardEverythingInReset() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.receive(1, 0, 64);
            pair.qpB.modifyToReset();
            assertEquals(QpState.RESET, pair.qpB.state());
            for (int i = 0; i < 100; i++) {
                assertEquals(0, pair.b.polling().pollOnce());
            }
            pair.qpA.modifyToReset();
            Connected.connect(pair.qpA, pair.qpB);
            pair.requireWorking();
            pair.receive(2, 0, 64);
            pair.send(3, 0, 64);
            pair.b.polling().success(2);
        }
    }

    @Test
    void shouldLeaveErrorOnlyThroughReset() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.qpA.modifyToErr();
            pair.qpB.modifyToErr();
            pair.qpA.modifyToReset();
            pair.qpB.modifyToReset();
            Connected.connect(pair.qpA, pair.qpB);
            pair.requireWorking();
        }
    }
}
