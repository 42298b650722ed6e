package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.control.link.Handshake.Mine;
import io.farpage.agent.control.link.Handshake.Step;
import io.farpage.agent.control.link.Handshake.Theirs;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

final class HandshakeTest {
    private static final Optional<Theirs> NONE = Optional.empty();

    @Test
    void shouldOfferOnlyWhenThereIsReasonTo() {
        assertEquals(Step.WAIT, Handshake.next(new Mine.Nothing(), NONE, OptionalLong.empty(), false));
        assertEquals(Step.OFFER, Handshake.next(new Mine.Nothing(), NONE, OptionalLong.empty(), true));
    }

    @Test
    void shouldAnswerAFreshOffer() {
        assertEquals(Step.ANSWER, Handshake.next(new Mine.Nothing(), fresh(7), OptionalLong.empty(), false));
    }

    @Test
    void shouldNotTakeAnOfferForFreshThatWasConnectedToBefore() {
        assertEquals(Step.OFFER, Handshake.next(new Mine.Nothing(), fresh(7), OptionalLong.of(7), false));
        assertEquals(Step.WAIT, Handshake.next(new Mine.Offered(1), fresh(7), OptionalLong.of(7), false));
    }

    @Test
    void shouldTellThePeerThatItsConnectedQueuePairsAreDead() {
        assertEquals(Step.OFFER, Handshake.next(new Mine.Nothing(), answering(7, 1), OptionalLong.of(7), false));
    }

    @Test
    void shouldConnectToTheAnswerToItsOwnOfferEvenIfItWasUsedBefore() {
        assertEquals(Step.CONNECT, Handshake.next(new Mine.Offered(1), answering(7, 1), OptionalLong.of(7), false));
    }

    @Test
    void shouldNotConnectToTheAnswerToAnEarlierOffer() {
        assertEquals(Step.WAIT, Handshake.next(new Mine.Offered(2), answering(7, 1), OptionalLong.of(7), false));
    }

    @Test
    void shouldDisconnectWhenThePeerStartsAnew() {
        assertEquals(Step.DISCONNECT, Handshake.next(new Mine.Connected(1, 7), fresh(8), OptionalLong.of(7), false));
    }

    @Test
    void shouldKeepTheLinkWhileThePeersOfferIsGoneOrTheSame() {
        assertEquals(Step.WAIT, Handshake.next(new Mine.Connected(1, 7), NONE, OptionalLong.of(7), true));
        assertEquals(Step.WAIT, Handshake.next(new Mine.Connected(1, 7), answering(7, 1), OptionalLong.of(7), true));
    }

    @Test
    void shouldOfferAsManyQueuePairsAsItsShardsNeedIfThePeersAreFewer() {
        Optional<Theirs> few = Optional.of(new Theirs(7, OptionalLong.empty(), false));
        assertEquals(Step.OFFER, Handshake.next(new Mine.Nothing(), few, OptionalLong.empty(), false));
        assertEquals(Step.WAIT, Handshake.next(new Mine.Offered(1), few, OptionalLong.empty(), true));
    }

    @Test
    void shouldMakeOfferWhenThePeerAnswersAnAttemptThatIsGone() {
        assertEquals(Step.OFFER, Handshake.next(new Mine.Nothing(), answering(7, 1), OptionalLong.empty(), false));
    }

    @Test
    void shouldWaitWhileShardsHoldItsLastQueuePairs() {
        assertEquals(Step.WAIT, Handshake.next(new Mine.Leaving(), fresh(8), OptionalLong.of(7), true));
        assertEquals(Step.WAIT, Handshake.next(new Mine.Leaving(), NONE, OptionalLong.of(7), true));
    }

    private static Optional<Theirs> fresh(long attempt) {
        return Optional.of(new Theirs(attempt, OptionalLong.empty(), true));
    }

    private static Optional<Theirs> answering(long attempt, long answers) {
        return Optional.of(new Theirs(attempt, OptionalLong.of(answers), true));
    }
}
