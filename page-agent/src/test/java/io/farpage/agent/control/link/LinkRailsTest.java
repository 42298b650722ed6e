package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.link.FaultyProvider.Port;
import io.farpage.agent.control.link.Handshake.Step;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Fabric;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.Gid;
import io.farpage.verbs.LinkLayer;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The rails of links between nodes with several devices. A device reaches those of its own network alone. */
@Tag("portable")
final class LinkRailsTest {
    private static final Duration REAL_TIMEOUT = Duration.ofSeconds(20);
    private static final Duration DRAIN = Duration.ofSeconds(1);
    private static final Port STORAGE0 = new Port("fake0", "storage");
    private static final Port DATA0 = new Port("fake0", "data");
    private static final Port DATA1 = new Port("fake1", "data");
    private static final Port STORAGE1 = new Port("fake1", "storage");

    private final Map<Integer, String> networks = new ConcurrentHashMap<>();
    private final Map<String, FaultyProvider> providers = new HashMap<>();
    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private long now = 1_000_000_000;
    private long nextAttempt = 100;

    private LinkNode node(String id, String peer, int shards, Port... ports) {
        FaultyProvider rdma = new FaultyProvider(networks, List.of(ports));
        providers.put(id, rdma);
        open.push(() -> assertEquals(0, rdma.open.get(), "every queue pair of " + id + " is destroyed"));
        LinkNode node = new LinkNode(id, peer, TransportMode.AUTO, rdma, () -> now, shards);
        open.push(node);
        return node;
    }

    @AfterEach
    void close() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }

    private static Port infiniBand(String device, String network, String gid) {
        return new Port(device, network, Optional.of(LinkLayer.INFINIBAND), Optional.of(Gid.parse(gid)));
    }

    private void runUntil(String what, LinkNode a, LinkNode b, BooleanSupplier condition) {
        Deadlines.Wait wait = Deadlines.begin(what, REAL_TIMEOUT);
        while (!condition.getAsBoolean()) {
            assertFalse(wait.isOver(), () -> what + ": a " + a.session.status() + ", b " + b.session.status());
            a.step();
            b.step();
            Thread.onSpinWait();
        }
    }

    private void offer(LinkNode from, LinkNode to) {
        from.offer(nextAttempt++, to);
        from.session.published();
    }

    private void connect(LinkNode from, LinkNode to, Endpoint offer) {
        assertEquals(Step.CONNECT, from.session.next(Optional.of(offer), false));
        from.session.connectOffered(offer);
        from.session.published();
        install(from, to);
        install(to, from);
    }

    private static void install(LinkNode from, LinkNode to) {
        from.session.installConnected(to.view(), Optional.of(to.published(from)));
    }

    /** The whole handshake: a offers, b answers, a connects. */
    private void link(LinkNode a, LinkNode b) {
        offer(a, b);
        b.answer(nextAttempt++, a);
        b.session.published();
        connect(a, b, b.published(a));
    }

    private void awaitLink(LinkNode a, LinkNode b, String transport) {
        runUntil(
                "links",
                a,
                b,
                () -> a.state().equals("up " + transport) && b.state().equals("up " + transport));
    }

    private static List<String> devices(LinkNode node) {
        return node.session.status().queuePairs().stream()
                .map(LinkStatus.OfShard::device)
                .toList();
    }

    /** The peer's rail that each shard's queue pair is connected to, as published. */
    private static List<Integer> peerRails(LinkNode node, LinkNode peer) {
        return node.published(peer).entries().stream()
                .map(QpEntry::fabric)
                .map(Optional::orElseThrow)
                .map(Fabric::peerRail)
                .map(rail -> rail.orElseThrow())
                .toList();
    }

    private void stepTrial(LinkNode from, LinkNode to) {
        from.session.stepTrial(to.view(), Optional.of(to.published(from)), nextAttempt++, true);
        if (from.session.isUnpublished()) {
            from.session.published();
        }
        from.session.installTrial(to.view(), Optional.of(to.published(from)));
    }

    @Test
    void shouldConnectDevicesOfOneFabricWhoseRailsDiffer() {
        LinkNode a = node("a", "b", 1, infiniBand("fake0", "storage", "fec0::1"), DATA1);
        LinkNode b = node("b", "a", 1, DATA0);
        link(a, b);
        awaitLink(a, b, "rdma");
        assertEquals(List.of("fake1"), devices(a));
        assertEquals(List.of("fake0"), devices(b));
        assertEquals(List.of(0), peerRails(a, b));
        assertEquals(List.of(1), peerRails(b, a));
        a.read(b);
        b.read(a);
        a.step();
        b.step();
        assertEquals("up rdma", a.state());
    }

    @Test
    void shouldUseTcpWhenLinkLayersDiffer() {
        LinkNode a = node("a", "b", 1, infiniBand("fake0", "storage", "fec0::1"));
        LinkNode b = node("b", "a", 1, DATA0);
        link(a, b);
        awaitLink(a, b, "tcp");
    }

    @Test
    void shouldUseTcpWhenInfiniBandSubnetsDiffer() {
        LinkNode a = node("a", "b", 1, infiniBand("fake0", "storage", "fec0::1"));
        LinkNode b = node("b", "a", 1, infiniBand("fake0", "storage", "fe80::2"));
        link(a, b);
        awaitLink(a, b, "tcp");
    }

    @Test
    void shouldTryTheNextPairInATrialAfterOneThatFailed() {
        LinkNode a = node("a", "b", 1, STORAGE0, DATA1);
        LinkNode b = node("b", "a", 1, DATA0);
        link(a, b);
        assertEquals("connecting rdma", a.state());
        failAndLinkOverTcp(a, b);
        now += a.options.rdmaPause().toNanos();
        stepTrial(a, b);
        assertEquals(
                List.of(List.of(0), List.of()),
                avoided(a.published(b).trial().orElseThrow().entries()));
        stepTrial(b, a);
        stepTrial(a, b);
        stepTrial(b, a);
        runUntil(
                "proofs",
                a,
                b,
                () -> a.published(b).trial().orElseThrow().proven()
                        && b.published(a).trial().orElseThrow().proven());
        stepTrial(a, b);
        stepTrial(b, a);
        awaitLink(a, b, "rdma");
        assertEquals(List.of("fake1"), devices(a));
        assertEquals(List.of("fake0"), devices(b));
    }

    @Test
    void shouldTryTheNextPairWhenOneCannotBeConnected() {
        LinkNode a = node("a", "b", 1, DATA0, DATA1);
        LinkNode b = node("b", "a", 1, DATA0);
        offer(b, a);
        FaultyProvider rdma = Objects.requireNonNull(providers.get("a"));
        rdma.connectsFail = true;
        VerbsException failure = assertThrows(VerbsException.class, () -> a.answer(nextAttempt++, b));
        a.session.failed(failure.toString());
        runUntil("the end", a, b, () -> a.session.isIdle());
        rdma.connectsFail = false;
        Optional<Endpoint> same = Optional.of(b.published(a));
        assertEquals(Step.OFFER, a.session.next(same, false), "the same offer would fail in the same way");
        now += a.options.rdmaPause().toNanos();
        offer(a, b);
        assertEquals(List.of(List.of(0), List.of()), avoided(a.published(b).entries()));
        connect(b, a, a.published(b));
        connect(a, b, b.published(a));
        awaitLink(a, b, "rdma");
        assertEquals(List.of("fake1"), devices(a));
    }

    /** Verification over a pair that does not reach fails on both sides, and the next link is over TCP. */
    private void failAndLinkOverTcp(LinkNode a, LinkNode b) {
        runUntil("the failures", a, b, () -> isDraining(a) && isDraining(b));
        now += DRAIN.toNanos() + 1;
        runUntil("the end", a, b, () -> a.session.isIdle() && b.session.isIdle());
        now += a.options.firstBackoff().toNanos();
        link(a, b);
        awaitLink(a, b, "tcp");
    }

    private static List<List<Integer>> avoided(List<QpEntry> entries) {
        return entries.stream()
                .flatMap(entry -> entry.fabric().stream())
                .map(Fabric::avoids)
                .toList();
    }

    @Test
    void shouldTryDevicesAgainThatHaveReachedEachOther() {
        LinkNode a = node("a", "b", 1, DATA0, DATA1);
        LinkNode b = node("b", "a", 1, DATA0, DATA1);
        link(a, b);
        awaitLink(a, b, "rdma");
        a.read(b);
        FaultyProvider rdma = Objects.requireNonNull(providers.get("a"));
        rdma.postFails = true;
        runUntil("the failure", a, b, () -> isDraining(a));
        b.session.disconnect("the peer started the link anew");
        a.step();
        b.step();
        now += DRAIN.toNanos() + 1;
        runUntil("the end", a, b, () -> a.session.isIdle() && b.session.isIdle());
        now += a.options.rdmaPause().toNanos();
        offer(a, b);
        assertEquals(List.of(List.of(), List.of()), avoided(a.published(b).entries()));
    }

    @Test
    void shouldAvoidADeviceWithoutKeysWhenAnotherHasThem() {
        LinkNode a = node("a", "b", 1, DATA0, DATA1);
        LinkNode b = node("b", "a", 1, DATA0, DATA1);
        a.session.grant(b.grantsWithout("fake0"));
        offer(a, b);
        assertEquals(List.of(List.of(0), List.of(0)), avoided(a.published(b).entries()));
        b.answer(nextAttempt++, a);
        b.session.published();
        connect(a, b, b.published(a));
        awaitLink(a, b, "rdma");
        assertEquals(List.of("fake1"), devices(b));
    }

    private static boolean isDraining(LinkNode node) {
        return node.session.status().queuePairs().getFirst().state().equals("draining");
    }

    @Test
    void shouldSpreadShardsOverTheRails() {
        LinkNode a = node("a", "b", 3, DATA0, DATA1);
        LinkNode b = node("b", "a", 2, DATA0, DATA1);
        link(a, b);
        awaitLink(a, b, "rdma");
        assertEquals(List.of("fake0", "fake1", "fake0"), devices(a));
        assertEquals(List.of("fake0", "fake1"), devices(b));
        assertEquals("fake0, fake1", a.session.status().device());
        a.read(b);
        b.read(a);
        a.step();
        assertEquals("up rdma", a.state());
    }

    @Test
    void shouldChooseTheSamePairsWhenBothNodesOffer() {
        LinkNode a = node("a", "b", 2, DATA0, STORAGE1);
        LinkNode b = node("b", "a", 2, DATA0, STORAGE1);
        offer(a, b);
        offer(b, a);
        Endpoint ofA = a.published(b);
        Endpoint ofB = b.published(a);
        connect(a, b, ofB);
        connect(b, a, ofA);
        awaitLink(a, b, "rdma");
        assertEquals(List.of("fake0", "fake1"), devices(a));
        assertEquals(List.of("fake0", "fake1"), devices(b));
    }

    @Test
    void shouldConnectEqualRailsWithAPeerOfAnEarlierRelease() {
        LinkNode a = node("a", "b", 2, DATA0, DATA1);
        LinkNode b = node("b", "a", 2, DATA0, DATA1);
        b.isOfEarlierRelease = true;
        link(a, b);
        awaitLink(a, b, "rdma");
        assertEquals(List.of("fake0", "fake0"), devices(a), "such a peer uses one rail");
        assertEquals(List.of("fake0", "fake0"), devices(b));
        assertEquals(
                List.of(TransportKind.RDMA, TransportKind.RDMA),
                a.published(b).entries().stream().map(QpEntry::transport).toList());
    }

    @Test
    void shouldDoWithoutADeviceThatTheOtherNodeCannotUse() {
        LinkNode a = node("a", "b", 2, DATA0, DATA1);
        LinkNode b = node("b", "a", 2, DATA0);
        link(a, b);
        awaitLink(a, b, "rdma");
        assertEquals(List.of("fake0", "fake0"), devices(a));
        assertEquals(List.of(0, 0), peerRails(a, b));
    }
}
