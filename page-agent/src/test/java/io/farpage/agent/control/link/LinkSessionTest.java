package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.link.Handshake.Step;
import io.farpage.agent.data.shard.MessageChannel;
import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.coordinator.model.TrialOffer;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The sessions of two nodes with each other, over soft devices. One device poses as RDMA. The test steps shards and
 * sessions; the clock stands still unless the test moves it.
 */
@Tag("portable")
final class LinkSessionTest {
    private static final Duration REAL_TIMEOUT = Duration.ofSeconds(20);
    /** How long a shard waits for what is outstanding on a queue pair that it releases. */
    private static final Duration DRAIN = Duration.ofSeconds(1);

    private static final Optional<Endpoint> NO_OFFER = Optional.empty();

    private final FaultyProvider rdma = new FaultyProvider();
    private long now = 1_000_000_000;
    private long nextAttempt = 100;
    private final LinkNode a = node("a", "b", TransportMode.AUTO);
    private LinkNode b = node("b", "a", TransportMode.AUTO);

    private LinkNode node(String id, String peer, TransportMode mode) {
        return new LinkNode(id, peer, mode, rdma, () -> now);
    }

    private void useTcpAlone() {
        b.close();
        b = node("b", "a", TransportMode.TCP);
    }

    @AfterEach
    void close() {
        rdma.refusals.set(0);
        a.close();
        b.close();
        rdma.closeAll();
        assertEquals(0, rdma.open.get(), "every queue pair is destroyed");
    }

    private void pass(Duration time) {
        now += time.toNanos();
    }

    /** Runs both nodes until a condition holds. Destruction and responders have threads of their own. */
    private void runUntil(String what, BooleanSupplier condition) {
        Deadlines.Wait wait = Deadlines.begin(what, REAL_TIMEOUT);
        while (!condition.getAsBoolean()) {
            assertFalse(wait.isOver(), () -> what + ": a " + a.state() + ", b " + b.state());
            a.step();
            b.step();
            Thread.onSpinWait();
        }
    }

    /** Makes shards that release a queue pair stop waiting for what is outstanding on it. */
    private void endDraining() {
        a.step();
        b.step();
        pass(DRAIN.plusNanos(1));
    }

    private void offer(LinkNode from, LinkNode to) {
        from.offer(nextAttempt++, to);
        from.session.published();
    }

    private void answer(LinkNode from, LinkNode to) {
        from.answer(nextAttempt++, to);
        from.session.published();
    }

    private void connect(LinkNode from, LinkNode to) {
        from.session.connectOffered(to.published(from));
        from.session.published();
        install(from, to);
        install(to, from);
    }

    private static void install(LinkNode from, LinkNode to) {
        from.session.installConnected(to.view(), Optional.of(to.published(from)));
    }

    /** The whole handshake: a offers, b answers, a connects. */
    private void link(String transport) {
        offer(a, b);
        answer(b, a);
        connect(a, b);
        runUntil("links", () -> a.state().equals("up " + transport) && b.state().equals("up " + transport));
    }

    private static List<TransportKind> transports(Endpoint offer) {
        return offer.entries().stream().map(QpEntry::transport).toList();
    }

    // ---- the link

    @Test
    void shouldStartOnlyWithReasonWhenThePeerOffersNothing() {
        assertEquals("down", a.state());
        assertTrue(a.session.isIdle());
        assertTrue(a.session.mayStart(now));
        assertEquals(Step.WAIT, a.session.next(NO_OFFER, false));
        assertEquals(Step.OFFER, a.session.next(NO_OFFER, true));
    }

    @Test
    void shouldOfferAQueuePairOnEveryDevice() {
        offer(a, b);
        assertEquals("offered", a.state());
        Endpoint offer = a.published(b);
        assertEquals(List.of(TransportKind.RDMA, TransportKind.TCP), transports(offer));
        assertEquals(Optional.of(new Attempt(100)), offer.attempt());
        assertEquals(Optional.empty(), offer.answers());
        assertEquals(b.incarnation, offer.peerIncarnation());
        assertEquals(Step.WAIT, a.session.next(NO_OFFER, true));
        assertEquals(Step.ANSWER, b.session.next(Optional.of(offer), false));
    }

    @Test
    void shouldConnectToTheAnswerAndBeUpWhenThePeerIsVerified() {
        offer(a, b);
        answer(b, a);
        assertEquals("connecting rdma", b.state());
        Endpoint answer = b.published(a);
        assertEquals(List.of(TransportKind.RDMA), transports(answer));
        assertEquals(a.published(b).attempt(), answer.answers());
        assertEquals(Step.CONNECT, a.session.next(Optional.of(answer), false));
        connect(a, b);
        assertEquals("connecting rdma", a.state());
        runUntil("links", () -> a.state().equals("up rdma") && b.state().equals("up rdma"));
        assertEquals(Step.WAIT, a.session.next(Optional.of(b.published(a)), true));
        assertEquals(1, rdmaQueuePairsOfEach(), "the queue pair over tcp that was offered is destroyed");
    }

    @Test
    void shouldReadNothingOverRdmaBeforeThePeerHasConnected() {
        offer(a, b);
        answer(b, a);
        install(b, a);
        assertEquals("down", b.session.status().queuePairs().getFirst().state(), "the shard has no queue pair");
        connect(a, b);
        runUntil("links", () -> a.state().equals("up rdma") && b.state().equals("up rdma"));
    }

    @Test
    void shouldReadOverTcpBeforeThePeerHasConnected() {
        rdma.createsFail = true;
        offer(a, b);
        answer(b, a);
        install(b, a);
        b.step();
        assertEquals("verifying", b.session.status().queuePairs().getFirst().state());
        connect(a, b);
        runUntil("links", () -> a.state().equals("up tcp") && b.state().equals("up tcp"));
    }

    @Test
    void shouldFailTheLinkWhenThePeerDoesNotConnectInTime() {
        offer(a, b);
        answer(b, a);
        pass(b.options.trialTimeout());
        install(b, a);
        assertEquals("connecting rdma", b.state());
        pass(Duration.ofNanos(1));
        install(b, a);
        runUntil("the end", () -> b.session.isIdle());
        assertEquals("the peer has not connected its queue pairs within PT30S", b.session.lastFailure());
        assertFalse(b.session.mayStart(now));
        pass(b.options.firstBackoff());
        assertTrue(b.session.mayStart(now));
    }

    private int rdmaQueuePairsOfEach() {
        return rdma.open.get() / 2;
    }

    @Test
    void shouldUseTcpWhenOneNodeHasNoRdma() {
        useTcpAlone();
        link("tcp");
        runUntil("the queue pair over rdma to be destroyed", () -> rdma.open.get() == 0);
    }

    @Test
    void shouldRefuseAnOfferWithoutATransportInCommon() {
        useTcpAlone();
        offer(b, a);
        LinkNode rdmaAlone = node("c", "b", TransportMode.RDMA);
        try {
            VerbsException refused = assertThrows(VerbsException.class, () -> rdmaAlone.answer(1, b));
            assertEquals("no transport in common with b: it offers [tcp], this node [fake0]", refused.getMessage());
        } finally {
            rdmaAlone.close();
        }
    }

    @Test
    void shouldKeepTheLinkUntilThePeerStartsAnew() {
        link("rdma");
        assertEquals(Step.WAIT, a.session.next(NO_OFFER, true));
        Endpoint another = b.published(a);
        Endpoint anew = new Endpoint(
                another.node(),
                another.peer(),
                another.incarnation(),
                another.peerIncarnation(),
                Optional.of(new Attempt(999)),
                Optional.empty(),
                another.entries(),
                Optional.empty(),
                2);
        assertEquals(Step.DISCONNECT, a.session.next(Optional.of(anew), false));
    }

    @Test
    void shouldWaitUntilTheQueuePairsAreReleasedAndDestroyed() {
        link("rdma");
        a.session.disconnect("for a test");
        assertEquals("leaving rdma", a.state());
        endDraining();
        assertTrue(a.session.hasQueuePairs(b.incarnation.value()));
        assertEquals(Step.WAIT, a.session.next(NO_OFFER, true));
        runUntil("the end", () -> a.session.isIdle());
        assertEquals("down", a.state());
        assertFalse(a.session.hasQueuePairs(b.incarnation.value()));
        assertTrue(a.session.mayStart(now), "a removal that is intended begins no pause");
        assertEquals(Step.OFFER, a.session.next(NO_OFFER, true));
    }

    @Test
    void shouldStayDownUntilAQueuePairThatCannotBeDestroyedIs() {
        link("rdma");
        rdma.refusals.set(2);
        a.session.disconnect("for a test");
        endDraining();
        runUntil("a refusal", () -> rdma.refusals.get() < 2);
        assertEquals("leaving rdma", a.state());
        runUntil("the end", () -> a.session.isIdle());
        assertEquals(0, rdma.refusals.get());
    }

    @Test
    void shouldKnowForWhichIncarnationItsQueuePairsAre() {
        assertFalse(a.session.isForAnother(1));
        offer(a, b);
        assertFalse(a.session.isForAnother(b.incarnation.value()));
        assertTrue(a.session.isForAnother(1));
        assertFalse(a.session.hasQueuePairs(1));
    }

    // ---- failures and pauses

    @Test
    void shouldPauseTwiceAsLongAfterEachFailureUpToTheLongestPause() {
        Duration pause = a.options.firstBackoff();
        for (int failure = 0; failure < 8; failure++) {
            a.session.failed("for a test");
            assertEquals("for a test", a.session.status().detail());
            pass(pause.minusNanos(1));
            assertFalse(a.session.mayStart(now), "failure " + failure);
            pass(Duration.ofNanos(1));
            assertTrue(a.session.mayStart(now), "failure " + failure);
            pause = pause.multipliedBy(2).compareTo(a.options.longestBackoff()) < 0
                    ? pause.multipliedBy(2)
                    : a.options.longestBackoff();
        }
    }

    @Test
    void shouldBeginWithTheFirstPauseAgainWhenTheLinkHasBeenUp() {
        a.session.failed("for a test");
        a.session.failed("for a test");
        link("rdma");
        breakLink();
        runUntil("the end", () -> a.session.isIdle());
        assertFalse(a.session.mayStart(now));
        pass(a.options.firstBackoff());
        assertTrue(a.session.mayStart(now));
    }

    /** A READ of a's fails as it is posted. */
    private void breakLink() {
        a.read(b);
        rdma.postFails = true;
        runUntil("the failure", () -> !rdma.postFails);
        endDraining();
        runUntil("the release", () -> !a.state().startsWith("up"));
    }

    @Test
    void shouldOfferTcpAloneForAPauseWhenRdmaHasFailed() {
        link("rdma");
        breakLink();
        String why = a.session.status().detail();
        assertTrue(why.contains("post_send"), why);
        b.session.disconnect("for a test");
        endDraining();
        runUntil("the end", () -> a.session.isIdle() && b.session.isIdle());
        pass(a.options.firstBackoff());
        offer(a, b);
        assertEquals(List.of(TransportKind.TCP), transports(a.published(b)));
        a.session.disconnect("for a test");
        runUntil("the end", () -> a.session.isIdle());
        pass(a.options.rdmaPause());
        offer(a, b);
        assertEquals(List.of(TransportKind.RDMA, TransportKind.TCP), transports(a.published(b)));
    }

    @Test
    void shouldUseRdmaAtOnceWhenTheDevicesHaveChanged() {
        link("rdma");
        breakLink();
        runUntil("the end", () -> a.session.isIdle());
        a.session.devicesChanged();
        offer(a, b);
        assertEquals(List.of(TransportKind.RDMA, TransportKind.TCP), transports(a.published(b)));
    }

    @Test
    void shouldReportTheReasonAndPauseWhenTooManyLinksExist() {
        a.session.refuse("link.max of 1 links is reached; raise it");
        assertEquals(
                "link.max of 1 links is reached; raise it", a.session.status().detail());
        assertFalse(a.session.mayStart(now));
        assertEquals("down", a.state());
    }

    @Test
    void shouldLeaveADeviceWhoseCompletionQueueHasFailed() {
        link("rdma");
        rdma.pollFails = true;
        runUntil("the failure", () -> !rdma.pollFails);
        a.session.leaveUnusableDevices();
        b.session.leaveUnusableDevices();
        endDraining();
        runUntil("one side to end", () -> a.session.isIdle() || b.session.isIdle());
    }

    @Test
    void shouldAnswerOverTcpWhenNoQueuePairCanBeCreatedOverRdma() {
        offer(a, b);
        rdma.createsFail = true;
        answer(b, a);
        assertEquals("connecting tcp", b.state());
        assertEquals("rdma: create_qp on fake0: ENOMEM", b.session.status().detail());
        connect(a, b);
        runUntil("links", () -> a.state().equals("up tcp") && b.state().equals("up tcp"));
        rdma.createsFail = false;
        stepTrial(b, a);
        assertFalse(b.session.hasTrial(), "the failed creation begins a pause of RDMA");
        pass(b.options.rdmaPause());
        stepTrial(b, a);
        assertTrue(b.session.hasTrial());
    }

    @Test
    void shouldConnectOverTheTransportThatBothHaveQueuePairsOn() {
        offer(a, b);
        Endpoint ofBoth = a.published(b);
        rdma.createsFail = true;
        offer(b, a);
        assertEquals(List.of(TransportKind.TCP), transports(b.published(a)));
        rdma.createsFail = false;
        pass(b.options.rdmaPause());
        connect(a, b);
        b.session.connectOffered(ofBoth);
        b.session.published();
        install(b, a);
        runUntil("links", () -> a.state().equals("up tcp") && b.state().equals("up tcp"));
    }

    @Test
    void shouldPauseRdmaWhenNoQueuePairForThePeerCanBeCreated() {
        LinkNode rdmaAlone = node("b", "a", TransportMode.RDMA);
        try {
            offer(rdmaAlone, a);
            rdma.createsFail = true;
            VerbsException refused = assertThrows(VerbsException.class, () -> a.answer(nextAttempt++, rdmaAlone));
            assertEquals(
                    "no queue pair could be created on any of [fake0]: create_qp on fake0: ENOMEM",
                    refused.getMessage());
            rdma.createsFail = false;
            offer(a, b);
            assertEquals(List.of(TransportKind.TCP), transports(a.published(b)));
        } finally {
            rdmaAlone.close();
        }
    }

    private static int qpn(LinkNode of, LinkNode toward) {
        return of.published(toward).entries().getFirst().qpn();
    }

    @Test
    void shouldFailTheLinkWhoseQueuePairTheDeviceSaysHasFailed() {
        link("rdma");
        int failed = qpn(a, b);
        a.session.queuePairFailed(a.device(), failed + 1);
        assertEquals("up rdma", a.state());
        a.session.queuePairFailed(a.device(), failed);
        assertEquals("leaving rdma", a.state());
        assertEquals(
                "queue pair 0x%x failed on fake0".formatted(failed),
                a.session.status().detail());
        endDraining();
        runUntil("the end", () -> a.session.isIdle());
        pass(a.options.firstBackoff());
        offer(a, b);
        assertEquals(List.of(TransportKind.TCP), transports(a.published(b)), "it counts as a failure of RDMA");
    }

    @Test
    void shouldEndTheTrialWhoseQueuePairTheDeviceSaysHasFailed() {
        linkOverTcpWithRdmaAgain();
        stepTrial(a, b);
        int failed = trial(a, b).orElseThrow().entries().getFirst().qpn();
        a.session.queuePairFailed(a.device(), failed);
        assertTrue(trial(a, b).isEmpty());
        runUntil("the end of the trial", () -> !a.session.hasTrial());
        assertEquals("up tcp", a.state());
    }

    // ---- keys that the peer could not make

    private void leaveDevices(LinkNode from) {
        from.session.leaveUnusableDevices();
        from.session.leaveDevicesWithoutKeys();
    }

    @Test
    void shouldLeaveADeviceForWhichThePeerHasGrantedNoKeyUntilItHas() {
        link("rdma");
        a.session.grant(b.grants(over -> over == TransportKind.TCP));
        leaveDevices(a);
        assertTrue(a.session.isWithoutKeys());
        assertEquals(
                "'b' has granted ranges without a key for its device fake0",
                a.session.status().detail());
        b.session.disconnect("the peer started the link anew");
        endDraining();
        runUntil("the end", () -> a.session.isIdle() && b.session.isIdle());
        link("tcp");
        stepTrial(a, b);
        assertFalse(a.session.hasTrial(), "the key is still missing");

        a.session.grant(b.grants());
        leaveDevices(a);
        assertFalse(a.session.isWithoutKeys());
        assertEquals("up tcp", a.state());
        stepTrial(a, b);
        assertTrue(a.session.hasTrial());
    }

    @Test
    void shouldNotOfferADeviceForWhichThePeerHasGrantedNoKey() {
        a.session.grant(b.grants(over -> over == TransportKind.TCP));
        offer(a, b);
        assertEquals(List.of(TransportKind.TCP), transports(a.published(b)));
    }

    @Test
    void shouldStayOnADeviceWithoutAllKeysWhenNoOtherReachesThePeer() {
        LinkNode rdmaAlone = node("b", "a", TransportMode.RDMA);
        try {
            a.session.grant(rdmaAlone.grants(_ -> false));
            offer(a, rdmaAlone);
            leaveDevices(a);
            assertFalse(a.session.isWithoutKeys());
            assertEquals(List.of(TransportKind.RDMA, TransportKind.TCP), transports(a.published(rdmaAlone)));
        } finally {
            rdmaAlone.close();
        }
    }

    // ---- the trial of rdma beside tcp

    /** A link over TCP between nodes that both have RDMA, and the pause after its failure is over. */
    private void linkOverTcpWithRdmaAgain() {
        a.session.failTrial("for a test");
        b.session.failTrial("for a test");
        link("tcp");
        assertFalse(a.session.hasTrial());
        pass(a.options.rdmaPause());
    }

    private void stepTrial(LinkNode from, LinkNode to) {
        from.session.stepTrial(to.view(), Optional.of(to.published(from)), nextAttempt++, true);
        if (from.session.isUnpublished()) {
            from.session.published();
        }
        from.session.installTrial(to.view(), Optional.of(to.published(from)));
    }

    private void prove() {
        linkOverTcpWithRdmaAgain();
        stepTrial(a, b);
        stepTrial(b, a);
        stepTrial(a, b);
        stepTrial(b, a);
    }

    private static Optional<TrialOffer> trial(LinkNode of, LinkNode toward) {
        return of.published(toward).trial();
    }

    @Test
    void shouldStartNoTrialDuringThePauseOrBesideTooManyOthers() {
        a.session.failTrial("for a test");
        b.session.failTrial("for a test");
        link("tcp");
        stepTrial(a, b);
        assertFalse(a.session.hasTrial(), "the pause lasts");
        pass(a.options.rdmaPause());
        a.session.stepTrial(b.view(), Optional.of(b.published(a)), nextAttempt++, false);
        assertFalse(a.session.hasTrial(), "no further trial is allowed");
        stepTrial(a, b);
        assertTrue(a.session.hasTrial());
        assertTrue(trial(a, b).isPresent());
        assertEquals("up tcp", a.state());
    }

    @Test
    void shouldMoveTheLinkToRdmaWhenBothNodesHaveProvedIt() {
        prove();
        runUntil(
                "proofs",
                () -> trial(a, b).orElseThrow().proven()
                        && trial(b, a).orElseThrow().proven());
        assertEquals("up tcp", a.state());
        stepTrial(a, b);
        assertEquals(Step.WAIT, a.session.next(Optional.of(b.published(a)), true), "the shards switch");
        stepTrial(b, a);
        runUntil("the move", () -> a.state().equals("up rdma") && b.state().equals("up rdma"));
        assertTrue(a.session.hasTrial(), "the old queue pairs stay until the peer has switched");
        assertTrue(a.session.isUnpublished());
        stepTrial(a, b);
        stepTrial(b, a);
        endDraining();
        runUntil("the end of the old queue pairs", () -> !a.session.hasTrial() && !b.session.hasTrial());
        assertEquals("up rdma", a.state());
        assertEquals("", a.session.status().detail());
        assertEquals(Step.WAIT, a.session.next(Optional.of(b.published(a)), true));
    }

    @Test
    void shouldOpenAnotherMessageChannelWhenLinkMovesToRdma() {
        b.openMessages();
        prove();
        runUntil("a channel", () -> a.opened.size() == 1 && b.opened.size() == 1);
        MessageChannel overTcp = a.opened.getFirst();
        runUntil(
                "proofs",
                () -> trial(a, b).orElseThrow().proven()
                        && trial(b, a).orElseThrow().proven());
        stepTrial(a, b);
        stepTrial(b, a);
        runUntil("the move", () -> a.state().equals("up rdma") && b.state().equals("up rdma"));
        runUntil("another channel", () -> !a.opened.contains(overTcp) && a.opened.size() == 1 && b.opened.size() == 1);
        stepTrial(a, b);
        stepTrial(b, a);
        endDraining();
        runUntil("the end of the old queue pairs", () -> !a.session.hasTrial() && !b.session.hasTrial());
        a.opened.getFirst().claim();
        a.opened.getFirst().send(MessageChannel.HEADER_BYTES);
        runUntil("the message", () -> b.messages == 1);
    }

    @Test
    void shouldExchangeNoMessagesWhenPeerOffersNone() {
        useTcpAlone();
        b.isOfEarlierRelease = true;
        a.openMessages();
        link("tcp");
        assertTrue(b.published(a).entries().stream()
                .allMatch(entry -> entry.messages().isEmpty()));
        for (int step = 0; step < 1000; step++) {
            a.step();
            b.step();
        }
        assertEquals(List.of(), a.opened);
        assertEquals(List.of(), b.opened);
        assertEquals("up tcp", a.state());
    }

    @Test
    void shouldDestroyTheOldQueuePairsWhenThePeerDoesNotSwitchInTime() {
        prove();
        runUntil(
                "proofs",
                () -> trial(a, b).orElseThrow().proven()
                        && trial(b, a).orElseThrow().proven());
        Optional<Endpoint> beforeItSwitched = Optional.of(b.published(a));
        stepTrial(a, b);
        runUntil("the move", () -> a.state().equals("up rdma"));
        pass(RdmaTrial.RETIREMENT);
        a.session.stepTrial(b.view(), beforeItSwitched, nextAttempt++, true);
        endDraining();
        for (int step = 0; step < 10_000; step++) {
            a.step();
        }
        assertTrue(a.session.hasTrial(), "the deadline has not passed");
        a.session.stepTrial(b.view(), beforeItSwitched, nextAttempt++, true);
        endDraining();
        runUntil("the end of the old queue pairs", () -> !a.session.hasTrial());
        assertEquals("up rdma", a.state());
    }

    @Test
    void shouldEndTheTrialAtItsDeadlineAndKeepTheLink() {
        linkOverTcpWithRdmaAgain();
        stepTrial(a, b);
        pass(a.options.trialTimeout());
        stepTrial(a, b);
        assertTrue(trial(a, b).isPresent());
        pass(Duration.ofNanos(1));
        stepTrial(a, b);
        assertEquals("rdma: it was not proved within PT30S", a.session.status().detail());
        assertTrue(trial(a, b).isEmpty());
        endDraining();
        runUntil("the end of the trial", () -> !a.session.hasTrial());
        assertEquals("up tcp", a.state());
        stepTrial(a, b);
        assertFalse(a.session.hasTrial(), "the next pause has begun");
    }

    @Test
    void shouldEndTheTrialWhenThePeerEndsItsSide() {
        prove();
        b.session.failTrial("for a test");
        stepTrial(a, b);
        endDraining();
        assertEquals("rdma: the peer ended its side", a.session.status().detail());
        runUntil("the end of the trial", () -> !a.session.hasTrial());
        assertEquals("up tcp", a.state());
    }

    @Test
    void shouldRemoveTheTrialWithTheLink() {
        prove();
        a.session.disconnect("for a test");
        assertFalse(a.session.isUnpublished());
        endDraining();
        runUntil("the end", () -> a.session.isIdle());
    }
}
