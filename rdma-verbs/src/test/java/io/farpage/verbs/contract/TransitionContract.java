package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.IllegalTransitionException;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Queue pairs move between states as the specification has it, and no other way. */
public abstract class TransitionContract {
    protected abstract VerbsFixture open();

    /** A lone queue pair at A and an endpoint at B to point it to. */
    private void with(Scenario scenario) {
        try (VerbsFixture fixture = open();
                Side a = new Side(fixture.a());
                Side b = new Side(fixture.b())) {
            QueuePair peer = b.queuePair(Connected.OPTIONS);
            scenario.run(a, a.queuePair(Connected.OPTIONS), peer.endpoint());
        }
    }

    private interface Scenario {
        void run(Side side, QueuePair queuePair, QpEndpoint peer);
    }

    private static void take(QueuePair queuePair, QpState to, QpEndpoint peer) {
        switch (to) {
            case RESET -> {}
            case INIT -> queuePair.modifyToInit();
            case RTR -> {
                take(queuePair, QpState.INIT, peer);
                queuePair.modifyToRtr(peer);
            }
            case RTS -> {
                take(queuePair, QpState.RTR, peer);
                queuePair.modifyToRts();
            }
            case ERR -> queuePair.modifyToErr();
        }
        assertEquals(to, queuePair.state());
    }

    private static void move(QueuePair queuePair, QpState to, QpEndpoint peer) {
        switch (to) {
            case RESET -> queuePair.modifyToReset();
            case INIT -> queuePair.modifyToInit();
            case RTR -> queuePair.modifyToRtr(peer);
            case RTS -> queuePair.modifyToRts();
            case ERR -> queuePair.modifyToErr();
        }
    }

    /** The peer sends its refusal before it moves to ERR. */
    @Test
    void shouldBeInResetWhenTheResetMeetsTheQueuePairsOwnRefusal() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            for (int i = 0; i < 200; i++) {
                int unknown = pair.b.region.rkey() ^ 0x0100_0000;
                pair.qpA.prepareRead(
                        i, pair.a.address(0), 8, pair.a.region.lkey(), pair.b.address(0), unknown, SendFlag.SIGNALED);
                pair.qpA.postSend();
                pair.a.polling().expect(i, pair.fixture.reported(WcStatus.REM_ACCESS_ERR));

                pair.qpB.modifyToReset();

                assertEquals(QpState.RESET, pair.qpB.state());
                pair.qpA.modifyToReset();
                Connected.connect(pair.qpA, pair.qpB);
            }
            pair.requireWorking();
        }
    }

    @ParameterizedTest
    @EnumSource(QpState.class)
    void shouldAllowExactlyTheLegalTransitionsFrom(QpState from) {
        for (QpState to : QpState.values()) {
            with((side, queuePair, peer) -> {
                take(queuePair, from, peer);
                if (from.canMoveTo(to)) {
                    move(queuePair, to, peer);
                    assertEquals(to, queuePair.state());
                } else {
                    IllegalTransitionException e =
                            assertThrows(IllegalTransitionException.class, () -> move(queuePair, to, peer));
                    assertTrue(String.valueOf(e.getMessage()).contains(from + "→" + to), e::toString);
                    assertEquals(from, queuePair.state());
                }
            });
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = QpState.class,
            names = {"RESET", "INIT", "RTR"})
    void shouldRefuseSendsBeforeRts(QpState state) {
        with((side, queuePair, peer) -> {
            take(queuePair, state, peer);
            assertThrows(VerbsException.class, () -> {
                queuePair.prepareWrite(1, side.address(0), 8, side.region.lkey(), 0, 0, SendFlag.SIGNALED);
                queuePair.postSend();
            });
            assertEquals(state, queuePair.state());
            assertEquals(0, side.polling().pollOnce());
        });
    }

    @Test
    void shouldRefuseReceivesInReset() {
        with((side, queuePair, peer) -> assertThrows(VerbsException.class, () -> {
            queuePair.prepareRecv(1, side.address(0), 8, side.region.lkey());
            queuePair.postRecv();
        }));
    }

    @Test
    void shouldAcceptReceivesInInit() {
        with((side, queuePair, peer) -> {
            queuePair.modifyToInit();
            queuePair.prepareRecv(1, side.address(0), 8, side.region.lkey());
            queuePair.postRecv();
        });
    }

    @Test
    void shouldReportAnEndpointWithinItsRanges() {
        with((side, queuePair, peer) -> {
            QpEndpoint endpoint = queuePair.endpoint();
            assertEquals(queuePair.qpn(), endpoint.qpn());
            assertNotEquals(0, endpoint.qpn());
            assertEquals(side.device.queryPort().gid(), endpoint.gid());
            assertEquals(side.device.queryPort().lid(), endpoint.lid());
        });
    }

    @Test
    void shouldSendWithANewPsnAfterReset() {
        with((side, queuePair, peer) -> {
            int first = queuePair.endpoint().psn();
            int changes = 0;
            for (int i = 0; i < 4; i++) {
                queuePair.modifyToReset();
                changes += queuePair.endpoint().psn() == first ? 0 : 1;
            }
            // One of four may hit the same by chance, in one run of four million.
            assertTrue(changes >= 3);
        });
    }
}
