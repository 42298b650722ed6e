package io.farpage.agent.control.member;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.coherence.HostedExtent;
import io.farpage.agent.data.coherence.MemberId;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a home does with each document of the coordinator, in which order, and what it acknowledges when. The test is
 * the thread, the coordinator and the clock.
 */
final class HostingTest {
    private static final Incarnation HOME = new Incarnation(1);
    private static final Incarnation BEFORE = new Incarnation(9);
    private static final Incarnation POOL = new Incarnation(9);
    private static final ExtentHome OWN_HOME = new ExtentHome("home", POOL, 8192);
    private static final ExtentHome OTHER_HOME = new ExtentHome("other", new Incarnation(77), 0);
    private static final Incarnation PEER = new Incarnation(2);
    private static final long SPACE = 5;
    private static final Epoch FIRST = new Epoch(1, 11);
    private static final Epoch SECOND = new Epoch(2, 22);

    /** What was done, in order. */
    private final List<String> done = new ArrayList<>();

    private final List<HostedAck> acks = new ArrayList<>();
    private final Map<String, CompletableFuture<Void>> cut = new HashMap<>();
    private CompletableFuture<Void> stopped = CompletableFuture.completedFuture(null);
    private CompletableFuture<Void> applied = CompletableFuture.completedFuture(null);
    private List<HostedExtent> served = List.of();
    private Hosted document = Hosted.NOTHING;
    private Epoch epoch = FIRST;
    private Predicate<HostedAck> lost = _ -> false;
    private boolean revocationFails;
    private Runnable whileZeroing = () -> {};
    private KeptHosting kept = KeptHosting.NOTHING;
    private long now;
    private Hosting hosting;

    @BeforeEach
    void start() {
        hosting = opened();
    }

    private Hosting opened() {
        Hosting opened = new Hosting(
                new RecordedCoordinator(),
                new Hosting.Home(
                        HOME,
                        POOL,
                        (offset, length) -> {
                            done.add("zero " + offset + "+" + length);
                            whileZeroing.run();
                        },
                        this::host),
                new RecordedLinks(),
                new RecordedAccess(),
                new RecordedPulls(),
                () -> now);
        opened.succeed(KeptHosting.NOTHING, next -> {
            kept = next;
            done.add("keep " + next.hosted().revision());
        });
        return opened;
    }

    private CompletableFuture<Void> host(Collection<HostedExtent> all) {
        done.add("host "
                + all.stream().mapToInt(extent -> extent.members().size()).sum());
        served = List.copyOf(all);
        return applied;
    }

    private final class RecordedCoordinator implements Hosting.Coordinator {
        @Override
        public Hosted hosted() {
            done.add("read " + document.revision());
            return document;
        }

        @Override
        public void acknowledge(HostedAck ack) {
            done.add("acknowledge " + ack.revision());
            acks.add(ack);
            if (lost.test(ack)) {
                throw new UncheckedIOException(new IOException("the answer is lost"));
            }
        }

        @Override
        public Optional<Epoch> epoch() {
            return Optional.of(epoch);
        }
    }

    private final class RecordedLinks implements Hosting.Links {
        @Override
        public CompletableFuture<Void> fence(String peer, Incarnation old) {
            done.add("cut off " + peer);
            return cut.computeIfAbsent(peer, _ -> new CompletableFuture<>());
        }

        @Override
        public void unfence(String peer, Incarnation old) {
            done.add("link " + peer);
        }

        @Override
        public void want(String peer) {
            done.add("want " + peer);
        }
    }

    private final class RecordedAccess implements PoolAccess {
        @Override
        public void follow(Hosted hosted) {
            if (revocationFails) {
                throw new IllegalStateException("the device does not revoke a key");
            }
            done.add("grant " + hosted.revision());
        }

        @Override
        public void revoke(long offset, long length) {
            done.add("revoke " + offset + "+" + length);
        }
    }

    private final class RecordedPulls implements PoolPulls {
        @Override
        public void follow(Hosted hosted) {
            done.add("pull " + hosted.revision());
        }

        @Override
        public CompletableFuture<Void> stop(long offset, long length) {
            done.add("stop " + offset + "+" + length);
            return stopped;
        }
    }

    private static Fence fence(String node, long space) {
        return new Fence("home", HOME, space, node, PEER, false);
    }

    private static Release release(long id, long offset, long length) {
        return new Release(id, SPACE, POOL, offset, length, true);
    }

    private static Hosted document(long revision, List<Fence> fences, Release... releases) {
        return new Hosted(revision, List.of(), fences, List.of(), List.of(), List.of(releases));
    }

    private static Hosted document(long revision, Release... releases) {
        return document(revision, List.of(), releases);
    }

    private static HostedAck ack(long revision, List<String> fenced, Long... zeroed) {
        return new HostedAck(
                HOME,
                revision,
                fenced.stream().map(node -> new HostedAck.Fenced(node, PEER)).toList(),
                List.of(zeroed));
    }

    /** The coordinator answers with a document from now on, and the home has heard of it. */
    private Duration step(Hosted next) throws CoordinatorException {
        document = next;
        hosting.refresh();
        return hosting.step();
    }

    /** No queue pair with a peer that is cut off is left. */
    private void destroyQueuePairs(String peer) {
        Objects.requireNonNull(cut.get(peer)).complete(null);
    }

    private List<HostedAck> takeAcks() {
        List<HostedAck> taken = List.copyOf(acks);
        acks.clear();
        return taken;
    }

    private long slicesZeroed() {
        return done.stream().filter(each -> each.startsWith("zero")).count();
    }

    @Test
    void shouldCutOffAndStopPullsBeforeItAcknowledgesAndZeroes() throws Exception {
        step(document(10, List.of(fence("a", 6)), release(1, 4096, 8192)));
        assertEquals(
                List.of(
                        "read 10",
                        "keep 10",
                        "cut off a",
                        "host 0",
                        "grant 10",
                        "pull 10",
                        "revoke 4096+8192",
                        "stop 4096+8192",
                        "acknowledge 10",
                        "zero 4096+8192",
                        "acknowledge 10"),
                done);
        assertEquals(List.of(ack(10, List.of()), ack(10, List.of(), 1L)), acks);
    }

    @Test
    void shouldAcknowledgeOtherFencesWhileAQueuePairIsNotDestroyed() throws Exception {
        step(document(10, List.of(fence("slow", 6), fence("quick", 7)), release(1, 0, 4096)));
        assertEquals(List.of(ack(10, List.of()), ack(10, List.of(), 1L)), takeAcks());
        destroyQueuePairs("quick");
        hosting.step();
        assertEquals(List.of(ack(10, List.of("quick"), 1L)), takeAcks());

        step(document(11, List.of(fence("slow", 6), fence("quick", 7).withAcknowledged(true))));
        assertEquals(List.of(ack(11, List.of())), takeAcks());
        destroyQueuePairs("slow");
        assertEquals(Duration.ofSeconds(30), hosting.step(), "there is nothing else to wait for");
        assertEquals(List.of(ack(11, List.of("slow"))), takeAcks());
        assertEquals(2, done.stream().filter(each -> each.startsWith("cut off")).count(), done.toString());
        assertEquals(2, done.stream().filter(each -> each.startsWith("read")).count(), "a step reads what is due");
    }

    @Test
    void shouldNotAcknowledgeARevisionWhoseAccessIsNotRevoked() throws Exception {
        revocationFails = true;
        assertThrows(IllegalStateException.class, () -> step(document(10, List.of(fence("a", 6)))));
        destroyQueuePairs("a");
        assertThrows(IllegalStateException.class, () -> hosting.step());
        assertEquals(List.of(), acks);
        revocationFails = false;
        hosting.step();
        assertEquals(List.of(ack(10, List.of("a"))), acks);
    }

    @Test
    void shouldApplyTheNextDocumentWhileALongRangeIsZeroed() throws Exception {
        int slices = 4;
        whileZeroing = () -> {
            if (slicesZeroed() == 2) {
                hosting.refresh();
            }
        };
        assertEquals(Duration.ZERO, step(document(10, release(1, 0, slices * Hosting.SLICE))));
        assertEquals(2, slicesZeroed());
        assertEquals(List.of(ack(10, List.of())), takeAcks(), "the range is not zero yet");
        document = document(12, release(1, 0, slices * Hosting.SLICE));
        hosting.step();
        assertEquals(List.of(ack(12, List.of()), ack(12, List.of(), 1L)), takeAcks());
        assertEquals(
                LongStream.range(0, slices)
                        .mapToObj(i -> "zero " + i * Hosting.SLICE + "+" + Hosting.SLICE)
                        .toList(),
                done.stream().filter(each -> each.startsWith("zero")).toList(),
                "it goes on where it was");
        assertTrue(done.indexOf("grant 12") < done.lastIndexOf("zero " + 2 * Hosting.SLICE + "+" + Hosting.SLICE));
    }

    @Test
    void shouldZeroNoFurtherWhenTheRangeIsNotReleasedAnyMore() throws Exception {
        whileZeroing = hosting::refresh;
        step(document(10, release(1, 0, 2 * Hosting.SLICE)));
        assertEquals(1, slicesZeroed());
        step(document(11));
        assertEquals(1, slicesZeroed());
        assertEquals(List.of(), hosting.known().zeroed());
    }

    @Test
    void shouldRememberDeletedSpacesWhoseRangesItHasZeroed() throws Exception {
        Release ofCopy = new Release(2, 6, POOL, 4096, 4096, false);
        step(document(10, release(1, 0, 4096), ofCopy));
        assertEquals(List.of(), hosting.known().deleted());
        step(document(11));
        assertEquals(List.of(SPACE), hosting.known().deleted());
        for (long space = 100; space < 100 + Hosting.MOST_DELETED; space++) {
            step(document(2 * space, new Release(space, space, POOL, 0, 4096, true)));
            step(document(2 * space + 1));
        }
        assertEquals(Hosting.MOST_DELETED, hosting.known().deleted().size());
        assertEquals(100, hosting.known().deleted().getFirst());
        Hosting successor = opened();
        successor.succeed(KeptHosting.parse(kept.json()), _ -> {});
        assertEquals(hosting.known().deleted(), successor.known().deleted());
        assertEquals(document, successor.known().hosted());
    }

    @Test
    void shouldZeroAfterTheShardHasStoppedWritingToTheRange() throws Exception {
        stopped = new CompletableFuture<>();
        step(document(10, release(1, 0, 4096)));
        hosting.step();
        assertEquals(0, slicesZeroed());
        stopped.complete(null);
        hosting.step();
        assertEquals(1, slicesZeroed());
        assertEquals(ack(10, List.of(), 1L), acks.getLast());
    }

    @Test
    void shouldZeroAfterTheIncarnationIsCutOffThatMayWriteToTheRange() throws Exception {
        step(document(10, List.of(fence("a", SPACE)), release(1, 0, 4096)));
        assertEquals(0, slicesZeroed());
        destroyQueuePairs("a");
        hosting.step();
        assertEquals(1, slicesZeroed());
        assertEquals(List.of(ack(10, List.of()), ack(10, List.of("a"), 1L)), acks);
    }

    /** What an incarnation wrote between the zeroing and the fence must not be given to another space. */
    @Test
    void shouldZeroARangeAgainForWhichAFenceCameBeforeItWasFree() throws Exception {
        step(document(10, release(1, 0, 4096)));
        assertEquals(1, slicesZeroed());
        step(document(11, List.of(fence("a", SPACE)), release(1, 0, 4096)));
        assertEquals(ack(11, List.of()), acks.getLast(), "the range is no longer zero");
        destroyQueuePairs("a");
        hosting.step();
        assertEquals(2, slicesZeroed());
        assertEquals(ack(11, List.of("a"), 1L), acks.getLast());
    }

    @Test
    void shouldLeaveARangeAloneForWhichAnotherProcessHasToBeCutOff() throws Exception {
        Fence own = new Fence("home", HOME, SPACE, "home", HOME, false);
        Fence earlier = new Fence("home", BEFORE, SPACE, "a", PEER, true);
        for (Fence fence : List.of(own, earlier)) {
            step(document(10, List.of(fence), release(1, 0, 4096)));
            assertEquals(0, slicesZeroed());
            assertEquals(Map.of(), cut);
        }
        step(document(11, new Release(2, SPACE, new Incarnation(77), 0, 4096, true)));
        assertEquals(0, slicesZeroed(), "it is of a pool that is gone");
    }

    @Test
    void shouldNotApplyAnOlderDocument() throws Exception {
        step(document(10, release(1, 0, 4096)));
        step(document(12));
        done.clear();
        takeAcks();
        // The frames were given to another space in the meantime.
        assertEquals(Duration.ofMillis(500), step(document(10, release(1, 0, 4096))));
        assertEquals(List.of("read 10"), done);
        assertEquals(12, hosting.known().hosted().revision());

        document = document(12);
        hosting.step();
        assertEquals(List.of(ack(12, List.of())), acks, "it is asked for again");
    }

    @Test
    void shouldApplyALowerRevisionOfAnotherEpoch() throws Exception {
        step(document(12));
        epoch = SECOND;
        step(document(10));
        assertEquals(10, hosting.known().hosted().revision());
        assertEquals(ack(10, List.of()), acks.getLast());
    }

    /** The store of the coordinator has the release again, or still: the frames may be in use by then. */
    @Test
    void shouldNotZeroAgainWhenTheAcknowledgementWasLost() throws Exception {
        step(document(10));
        lost = ack -> !ack.zeroed().isEmpty();
        assertThrows(UncheckedIOException.class, () -> step(document(11, release(1, 0, 4096))));
        lost = _ -> false;
        hosting.step();
        assertEquals(1, slicesZeroed());
        assertEquals(ack(11, List.of(), 1L), acks.getLast());

        // The coordinator was started again before it had stored that.
        epoch = SECOND;
        step(document(11, release(1, 0, 4096)));
        assertEquals(1, slicesZeroed());
        assertEquals(ack(11, List.of(), 1L), acks.getLast());
        step(document(12));
        assertEquals(ack(12, List.of()), acks.getLast());
        assertEquals(1, slicesZeroed());
    }

    @Test
    void shouldAcknowledgeTheSameRevisionWhenTheCoordinatorRestarts() throws Exception {
        step(document(10, List.of(fence("a", 6))));
        destroyQueuePairs("a");
        hosting.step();
        takeAcks();
        epoch = SECOND;
        step(document(10, List.of(fence("a", 6))));
        assertEquals(List.of(ack(10, List.of("a"))), acks);
        assertEquals(1, done.stream().filter("cut off a"::equals).count());
    }

    @Test
    void shouldLinkAgainWhenTheFenceIsLifted() throws Exception {
        step(document(10, List.of(fence("a", 6), fence("a", 7), fence("b", 6))));
        assertEquals(1, done.stream().filter("cut off a"::equals).count(), "an incarnation is cut off for all spaces");
        step(document(11, List.of(fence("a", 7), fence("b", 6))));
        assertFalse(done.contains("link a"));
        done.clear();
        step(document(12, List.of(fence("b", 6))));
        assertTrue(done.contains("link a"));

        step(document(13, List.of(fence("a", 8), fence("b", 6))));
        assertTrue(done.contains("cut off a"), "it is a fence of its own");
    }

    @Test
    void shouldReadAgainAfterHalfAMinuteAndWhenAStepHasFailed() throws Exception {
        assertEquals(Duration.ofSeconds(30), step(document(10)));
        now += Duration.ofSeconds(10).toNanos();
        assertEquals(Duration.ofSeconds(20), hosting.step());
        assertEquals(1, acks.size());
        now += Duration.ofSeconds(20).toNanos();
        lost = _ -> true;
        assertThrows(UncheckedIOException.class, () -> hosting.step());
        lost = _ -> false;
        hosting.step();
        assertEquals(3, done.stream().filter("read 10"::equals).count());
    }

    @Test
    void shouldKnowForARebuildWhatItHasDone() throws Exception {
        Space space = new Space(SPACE, "one", 4096, 4096, ExtentState.OK, Instant.EPOCH, false);
        Hosted kept = new Hosted(
                9,
                List.of(new SpaceExtents(space, 9, List.of())),
                List.of(new Fence("home", BEFORE, SPACE, "a", PEER, true)),
                List.of(),
                List.of(),
                List.of());
        hosting.succeed(new KeptHosting(kept, List.of()), _ -> {});
        assertEquals(
                List.of(new Fence("home", BEFORE, SPACE, "a", PEER, false)),
                hosting.known().hosted().fences(),
                "an earlier process did it, and this one has not");
        assertEquals(kept.spaces(), hosting.known().hosted().spaces());

        step(document(10, List.of(fence("a", 6), fence("b", 6)), release(1, 0, 4096), release(2, 4096, 4096)));
        destroyQueuePairs("a");
        hosting.step();
        assertEquals(
                List.of(fence("a", 6).withAcknowledged(true), fence("b", 6)),
                hosting.known().hosted().fences());
        assertEquals(
                List.of(release(1, 0, 4096), release(2, 4096, 4096)),
                hosting.known().zeroed());
    }

    /** Half of a coherent space is here, and half at another home; these nodes are members. */
    private static Hosted coherent(long revision, List<Fence> fences, String... members) {
        List<Extent> extents = List.of(
                new Extent(0, 4, List.of(OTHER_HOME), ExtentState.OK),
                new Extent(4, 4, List.of(OWN_HOME), ExtentState.OK));
        return coherent(revision, fences, extents, members);
    }

    private static Hosted coherent(long revision, List<Fence> fences, List<Extent> extents, String... members) {
        Space space = new Space(SPACE, "one", 8 * 4096, 4096, ExtentState.OK, Instant.EPOCH, false).withCoherent();
        return new Hosted(
                revision,
                List.of(new SpaceExtents(space, revision, extents)),
                fences,
                List.of(members).stream()
                        .map(node -> HostedAttachment.of(new Attachment(SPACE, node, PEER, AttachMode.MEMBER, 33), 0))
                        .toList(),
                List.of(),
                List.of());
    }

    /** The same; an incarnation has adopted the guest of a member. */
    private static Hosted withHeir(Hosted hosted, String node, Incarnation heir) {
        return new Hosted(
                hosted.revision(),
                hosted.spaces(),
                hosted.fences(),
                hosted.attachments().stream()
                        .map(each -> each.node().equals(node)
                                ? HostedAttachment.of(
                                        new Attachment(SPACE, node, PEER, AttachMode.MEMBER, 33).withHeir(heir), 0)
                                : each)
                        .toList(),
                hosted.pulls(),
                hosted.releases());
    }

    private static MemberId member(String node) {
        return new MemberId(node, PEER.value(), 33);
    }

    private static Extent moved(Extent extent) {
        return new Extent(
                extent.firstPage(),
                extent.count(),
                extent.homes(),
                extent.state(),
                OptionalLong.of(1),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    @Test
    void shouldServeAsFirstOrAsSecondHome() throws Exception {
        List<Extent> extents = List.of(
                new Extent(0, 4, List.of(OWN_HOME, OTHER_HOME), ExtentState.OK),
                moved(new Extent(4, 4, List.of(OTHER_HOME, OWN_HOME), ExtentState.OK)));
        step(coherent(10, List.of(), extents, "a"));
        HostedExtent first = served.getFirst();
        HostedExtent second = served.getLast();
        assertEquals(Optional.empty(), first.directory());
        assertEquals(Optional.of("other"), first.second());
        assertFalse(first.isMoved());
        assertEquals(Optional.of("other"), second.directory());
        assertEquals(Optional.empty(), second.second());
        assertTrue(second.isMoved());
        assertTrue(done.contains("want other"), done::toString);
    }

    @Test
    void shouldServeTheMembersOfCoherentSpaces() throws Exception {
        step(coherent(10, List.of(), "a", "b"));
        assertEquals(
                List.of(new HostedExtent(
                        SPACE,
                        4,
                        4,
                        8192,
                        false,
                        Set.of(member("a"), member("b")),
                        Optional.empty(),
                        Optional.empty(),
                        false)),
                served);
        assertTrue(done.containsAll(List.of("want a", "want b")), done::toString);
        assertEquals(List.of(ack(10, List.of())), takeAcks());
        step(coherent(11, List.of(), "a", "b"));
        assertEquals(1, done.stream().filter("host 2"::equals).count(), "nothing has changed");
        step(document(12));
        assertEquals(List.of(), served, "the space is gone");
    }

    @Test
    void shouldAcknowledgeOnceShardHasCutOffAFormerMember() throws Exception {
        step(coherent(10, List.of(), "a", "b"));
        takeAcks();
        applied = new CompletableFuture<>();
        assertEquals(Duration.ofMillis(500), step(coherent(11, List.of(), "b")));
        assertEquals(List.of(), takeAcks(), "shard 0 may still serve it");
        applied.complete(null);
        hosting.step();
        assertEquals(List.of(ack(11, List.of())), takeAcks());
    }

    @Test
    void shouldNotServeAMemberThatMustBeCutOff() throws Exception {
        step(coherent(10, List.of(), "a", "b"));
        takeAcks();
        applied = new CompletableFuture<>();
        step(coherent(11, List.of(fence("a", SPACE)), "a", "b"));
        assertEquals(Set.of(member("b")), served.getFirst().members());
        destroyQueuePairs("a");
        hosting.step();
        assertEquals(List.of(), takeAcks(), "its messages may still be executed");
        assertFalse(hosting.known().hosted().fences().getFirst().acknowledged());
        applied.complete(null);
        hosting.step();
        assertEquals(List.of(ack(11, List.of("a"))), takeAcks());
    }

    @Test
    void shouldServeTheSuccessorOfAMemberThatIsCutOff() throws Exception {
        step(coherent(10, List.of(), "a", "b"));
        takeAcks();
        Incarnation heir = new Incarnation(PEER.value() + 1);
        step(withHeir(coherent(11, List.of(fence("a", SPACE)), "a", "b"), "a", heir));
        HostedExtent extent = served.getFirst();
        assertEquals(Set.of(new MemberId("a", heir.value(), 33), member("b")), extent.members());
        assertFalse(extent.torn(), "no page is lost");
        step(withHeir(coherent(12, List.of(fence("a", SPACE), fence("b", SPACE)), "a", "b"), "a", heir));
        assertTrue(served.getFirst().torn(), "another member is cut off, too");
    }

    @Test
    void shouldServeAMemberThatIsCutOffFromAnotherSpace() throws Exception {
        step(coherent(10, List.of(fence("a", SPACE + 1)), "a"));
        assertEquals(Set.of(member("a")), served.getFirst().members());
    }

    @Test
    void shouldServeAnExtentAgainIfTheShardHasFailed() throws Exception {
        applied = CompletableFuture.failedFuture(new IllegalStateException("no memory for a directory"));
        step(coherent(10, List.of(), "a"));
        assertEquals(List.of(), takeAcks());
        applied = CompletableFuture.completedFuture(null);
        hosting.step();
        assertEquals(2, done.stream().filter("host 1"::equals).count());
        assertEquals(List.of(ack(10, List.of())), takeAcks());
    }

    @Test
    void shouldZeroNothingThatADirectoryMayStillWriteTo() throws Exception {
        step(coherent(10, List.of(), "a"));
        applied = new CompletableFuture<>();
        step(document(11, release(1, 8192, 4096)));
        assertEquals(0, slicesZeroed());
        applied.complete(null);
        hosting.step();
        assertEquals(1, slicesZeroed());
    }
}
