package io.farpage.agent.control.space;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.DroppedHome;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NewAttachment;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.rest.Problem;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What an agent does with each document of its spaces, in which order, and what it asks for when. The test is the
 * thread, the coordinator and the clock.
 */
final class FollowedSpacesTest {
    private static final Incarnation SELF = new Incarnation(7);
    private static final Incarnation HOME = new Incarnation(1);
    private static final Epoch FIRST = new Epoch(1, 11);
    private static final Epoch SECOND = new Epoch(2, 22);
    private static final int PAGE = 4096;

    /** What was asked for and done, in order. */
    private final List<String> done = new ArrayList<>();

    /** Requests that were begun while {@link #holds}. */
    private final Deque<Runnable> held = new ArrayDeque<>();

    /** By their words in {@link #done}. */
    private final Map<String, CoordinatorException> failures = new HashMap<>();

    /** What the coordinator has. */
    private final Map<Long, SpaceExtents> known = new HashMap<>();

    private final CoordinatorClient unused =
            new CoordinatorClient(URI.create("http://127.0.0.1:1"), Duration.ofSeconds(1));
    private Attached document = document(1);
    private Epoch epoch = FIRST;
    private boolean holds;
    private boolean hasAllKeys = true;
    /** What happens when the clock is asked next: an attachment that is answered asks it before it is held. */
    private Runnable onNextTime = () -> {};
    /** The spaces whose keys were used last, and those whose keys are used no longer. */
    private List<Long> withKeys = List.of();

    private final List<Long> forgotten = new ArrayList<>();
    private long now;
    private Spaces spaces;

    @BeforeEach
    void start() {
        spaces = new Spaces(new RecordedRequests(), this::time, request -> {
            if (holds) {
                held.add(request);
            } else {
                request.run();
            }
        });
        spaces.follow(new Spaces.Keys() {
            @Override
            public boolean follow(Attached given, List<SpaceExtents> attached) {
                done.add("keys " + given.revision());
                withKeys = attached.stream().map(each -> each.space().id()).toList();
                return hasAllKeys;
            }

            @Override
            public void forget(long space) {
                forgotten.add(space);
            }
        });
        for (long id = 1; id <= 5; id++) {
            known.put(id, space(id, 1, 0));
        }
        pass();
        done.clear();
    }

    @AfterEach
    void close() {
        spaces.close();
        unused.close();
    }

    private long time() {
        Runnable next = onNextTime;
        onNextTime = () -> {};
        next.run();
        return now;
    }

    private final class RecordedRequests extends SpaceRequests {
        RecordedRequests() {
            super(unused, "a", SELF);
        }

        private void record(String what) throws CoordinatorException {
            done.add(what);
            CoordinatorException failure = failures.get(what);
            if (failure != null) {
                throw failure;
            }
        }

        @Override
        Attached attached(long since) throws CoordinatorException {
            record("read since " + since);
            return document;
        }

        @Override
        Optional<Epoch> epoch() {
            return Optional.of(epoch);
        }

        @Override
        Attachment attach(long id, AttachMode mode, Claim claim) throws CoordinatorException {
            record("attach %d %s".formatted(id, mode));
            return new Attachment(id, node(), incarnation(), mode, 1);
        }

        @Override
        NewAttachment attachAndRead(long id, AttachMode mode, Claim claim) throws CoordinatorException {
            return NewAttachment.of(attach(id, mode, claim), Optional.empty());
        }

        @Override
        NewAttachment attachClone(String snapshot, String clone) throws CoordinatorException {
            record("clone " + snapshot + " as " + clone);
            throw away();
        }

        @Override
        void attachToWrite(long id) throws CoordinatorException {
            record("attach %d to write".formatted(id));
        }

        @Override
        Attachment adopt(long id, AttachMode mode, Incarnation earlier) throws CoordinatorException {
            record("adopt " + id);
            return new Attachment(id, "node", earlier, mode, 1);
        }

        @Override
        Optional<SpaceExtents> extents(long id) throws CoordinatorException {
            record("extents " + id);
            return Optional.ofNullable(known.get(id));
        }

        @Override
        void detach(long id, Detachment how) throws CoordinatorException {
            record("detach " + id);
        }

        private SpaceExtents answer(String what, long id) throws CoordinatorException {
            record(what + " " + id);
            return Objects.requireNonNull(known.get(id));
        }

        @Override
        SpaceExtents drop(long id, String home, Incarnation homeIncarnation, List<ExtentEpoch> extents)
                throws CoordinatorException {
            return answer("drop " + home + " from", id);
        }

        @Override
        SpaceExtents acknowledgeDrops(long id, List<ExtentEpoch> extents) throws CoordinatorException {
            return answer("acknowledge", id);
        }

        @Override
        SpaceExtents allowPulls(long id, List<ExtentEpoch> extents) throws CoordinatorException {
            return answer("allow", id);
        }

        @Override
        SpaceExtents promote(long id, List<ExtentEpoch> extents) throws CoordinatorException {
            return answer("promote", id);
        }
    }

    private static ExtentHome home(String node) {
        return new ExtentHome(node, HOME, 0);
    }

    private static Extent extent(long epoch) {
        return extent(
                epoch,
                List.of(home("b"), home("c")),
                LongStream.rangeClosed(1, epoch)
                        .mapToObj(at -> DroppedHome.of(home("c" + at), at))
                        .toList(),
                Optional.empty());
    }

    private static Extent extent(
            long epoch, List<ExtentHome> homes, List<DroppedHome> dropped, Optional<ExtentHome> joining) {
        return new Extent(
                0,
                8,
                homes,
                ExtentState.OK,
                OptionalLong.of(epoch),
                Optional.of(dropped),
                joining,
                joining.map(_ -> PullState.DONE));
    }

    /** Homes b and c; d has joined, and has all pages. */
    private static Extent joined() {
        return extent(1, List.of(home("b"), home("c")), List.of(), Optional.of(home("d")));
    }

    private static SpaceExtents space(long id, long revision, long epoch) {
        return with(id, revision, extent(epoch, List.of(home("b"), home("c")), List.of(), Optional.empty()));
    }

    private static SpaceExtents with(long id, long revision, Extent extent) {
        Space space =
                new Space(id, "space" + id, 8L * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false).withReplicas(2);
        return new SpaceExtents(space, revision, List.of(extent));
    }

    private static Attached.Held member(long id, long attachment) {
        return new Attached.Held(new Attachment(id, "a", SELF, AttachMode.MEMBER, attachment), false, Optional.empty());
    }

    /** A rebuilt coordinator has given the node another attachment, so the homes have given its pages away. */
    @Test
    void shouldRevokeAMemberWhoseAttachmentIsAnotherOne() throws Exception {
        SpaceExtents plain = space(3, 1, 0);
        known.put(3L, new SpaceExtents(plain.space().withReplicas(1).withCoherent(), 1, plain.extents()));
        SpaceUse use = spaces.useForGuest(3, Claim.PLAIN).orElseThrow();
        step(document(2, member(3, use.attachment())));
        assertFalse(use.isRevoked());
        step(document(3, member(3, use.attachment() + 1)));
        assertTrue(use.revocation().orElse("").contains("lost its attachment"), () -> "" + use.revocation());
        use.close();
    }

    private static Attached.Held held(long id, boolean cutOff, SpaceExtents... extents) {
        Attachment attachment = new Attachment(id, "a", SELF, AttachMode.EXCLUSIVE, 1);
        return new Attached.Held(attachment, cutOff, Stream.of(extents).findFirst());
    }

    private static Attached document(long revision, Attached.Held... spaces) {
        return new Attached(revision, 100 + revision, List.of(spaces), List.of(), List.of(), List.of());
    }

    private static CoordinatorException refusal(int status, String word) {
        return new CoordinatorRefusedException(
                "the request", new Problem("urn:farpage:problem:" + word, word, status, "refused as " + word, "/"));
    }

    private static CoordinatorException away() {
        return new CoordinatorUnreachableException("no answer");
    }

    /** The coordinator answers with a document from now on, and the agent has heard of it. */
    private Duration step(Attached next) {
        document = next;
        spaces.refresh();
        return pass();
    }

    /** The thread is woken; and once more when a request has ended. */
    private Duration pass() {
        spaces.step();
        return spaces.step();
    }

    private SpaceUse exclusively(long id) throws CoordinatorException {
        SpaceUse use = spaces.useExclusively(id, Claim.PLAIN).orElseThrow();
        done.clear();
        return use;
    }

    private Drops.Writer writer(SpaceUse use) {
        return spaces.drops()
                .writers()
                .add(
                        use.map(),
                        Drops.Options.DEFAULT,
                        _ -> true,
                        () -> done.add("map " + use.map().id()));
    }

    /** A clone has no homes when its guest begins, so there are no keys to wait for. */
    @Test
    void shouldAskForDocumentLaterWhenAttachedSpaceHasNoHomes() throws Exception {
        known.put(4L, with(4, 1, extent(1, List.of(), List.of(), Optional.empty())));
        SpaceUse use = exclusively(4);
        document = document(2, held(4, false));
        pass();
        assertEquals(List.of(), done);
        now += Duration.ofSeconds(5).toNanos();
        pass();
        assertEquals(List.of("read since 101", "keys 2"), done);
        assertEquals(List.of(4L), withKeys);
        assertFalse(use.isRevoked());
        use.close();
    }

    @Test
    void shouldAskForDocumentAtOnceWhenAttachedSpaceHasHomes() throws Exception {
        SpaceUse use = exclusively(4);
        document = document(2, held(4, false));
        pass();
        assertEquals(List.of("read since 101", "keys 2"), done);
        use.close();
    }

    /** An event of an attached space makes the agent request a document, whatever its attachment has left for later. */
    @Test
    void shouldAskForDocumentAtOnceWhenSpaceWithoutHomesChanges() throws Exception {
        known.put(4L, with(4, 1, extent(1, List.of(), List.of(), Optional.empty())));
        SpaceUse use = exclusively(4);
        document = document(2);
        known.remove(4L);
        failures.put("attach 4 exclusive", refusal(404, "not-found"));
        spaces.changed(4);
        pass();
        pass();
        assertTrue(use.isRevoked(), done::toString);
        use.close();
    }

    /** The answer to the request that made it was lost, and its guest has been attached again. */
    @Test
    void shouldNotTakeACloneThatIsHeldForAnOrphan() throws Exception {
        assertThrows(CoordinatorUnreachableException.class, () -> spaces.useNewClone("golden", "space1"));
        exclusively(1);
        step(document(2, held(1, false, space(1, 2, 1))));
        pass();
        done.clear();
        pass();
        pass();
        assertEquals(List.of(), done, "no document is asked for in vain");
    }

    @Test
    void shouldEndUsesBeforeMapsKeysAcknowledgementsAndDetachments() throws Exception {
        SpaceUse taken = exclusively(1);
        taken.whenRevoked(() -> done.add("revoked 1"));
        SpaceUse mirrored = exclusively(2);
        SpaceUse left = spaces.use(3).orElseThrow();
        done.clear();
        known.put(2L, space(2, 6, 1));
        try (Drops.Writer writer = writer(mirrored)) {
            holds = true;
            step(document(2, held(2, false, with(2, 5, extent(1))), held(3, false), held(1, true)));
            held.remove().run();
            holds = false;
            writer.settled(5);
            left.close();
            spaces.detachWhenUnused(3);
            spaces.step();
            assertEquals(
                    List.of("read since 101", "revoked 1", "map 2", "keys 2", "acknowledge 2", "map 2", "detach 3"),
                    done);
        }
        assertEquals(Optional.of("another node took its space over"), taken.revocation());
        assertEquals(6, mirrored.map().revision());
    }

    @Test
    void shouldNotApplyAnOlderDocumentOfTheSameCoordinator() throws Exception {
        SpaceUse use = exclusively(1);
        step(document(5, held(1, false, space(1, 5, 1))));
        done.clear();
        assertEquals(Errands.RETRY, step(document(4, held(1, true, space(1, 4, 0)))));
        assertEquals(List.of("read since 105"), done);
        assertFalse(use.isRevoked());
        now += Errands.RETRY.toNanos();
        document = document(6, held(1, false, space(1, 6, 2)));
        pass();
        assertEquals(List.of("read since 105", "read since 105", "keys 6"), done);
        assertEquals(6, use.map().revision());
    }

    /** The store of the coordinator was lost: its revisions begin anew, and it does not know of the attachment. */
    @Test
    void shouldAttachAgainAtACoordinatorThatHasLostItsStore() throws Exception {
        SpaceUse use = exclusively(1);
        assertTrue(spaces.use(2).isPresent());
        step(document(5, held(1, false, space(1, 5, 1)), held(2, false)));
        done.clear();
        epoch = SECOND;
        step(document(2));
        assertEquals(List.of("read since 105", "attach 1 exclusive", "attach 2 shared", "keys 2"), done);
        assertFalse(use.isRevoked());
        assertEquals(5, use.map().revision());
    }

    /** A coordinator that has lost the attachment may have let another node write. */
    @Test
    void shouldForgetThePresenceMapThatTheCoordinatorDoesNotConfirm() throws Exception {
        SpaceUse use = exclusively(1);
        use.presence(Optional.of("f".repeat(32)));
        step(document(2));
        assertEquals(List.of("read since 101", "attach 1 exclusive", "keys 2"), done);
        assertEquals(Optional.empty(), use.presence());
    }

    @Test
    void shouldEndTheUseOfASpaceThatIsGoneOrWasTakenOver() throws Exception {
        SpaceUse gone = exclusively(1);
        SpaceUse taken = exclusively(2);
        SpaceUse refused = exclusively(3);
        failures.put("attach 1 exclusive", refusal(404, "not-found"));
        known.remove(1L);
        failures.put("attach 2 exclusive", refusal(409, "taken-over"));
        failures.put("attach 3 exclusive", refusal(404, "not-found"));
        step(document(2));
        assertEquals(Optional.of(AttachedSpace.DELETED), gone.revocation());
        assertTrue(gone.map().isLost(0));
        assertEquals(Optional.of("another node took its space over"), taken.revocation());
        assertFalse(refused.isRevoked(), "the node may not be registered");
    }

    /** Snapshots that are mapped as files are in use for long, and homes of this node are read without a key. */
    @Test
    void shouldLoseThePagesOfASharedSpaceThatIsGone() throws Exception {
        SpaceUse gone = spaces.use(1).orElseThrow();
        SpaceUse kept = spaces.use(2).orElseThrow();
        failures.put("attach 1 shared", refusal(404, "not-found"));
        known.remove(1L);
        step(document(2));
        assertTrue(gone.map().isLost(0));
        assertFalse(kept.map().isLost(0));
        gone.close();
        assertEquals(Optional.empty(), spaces.use(1), "it is not used again");
    }

    @Test
    void shouldEndTheUseOfASpaceThatIsBeingDeleted() throws Exception {
        SpaceUse use = exclusively(1);
        SpaceExtents now = space(1, 2, 0);
        step(document(2, held(1, false, new SpaceExtents(now.space().withDeleting(), 2, now.extents()))));
        assertEquals(Optional.of(AttachedSpace.DELETED), use.revocation());
        done.clear();
        use.cutOff();
        spaces.step();
        assertEquals(List.of("detach 1"), done);
    }

    @Test
    void shouldLeaveASpaceThatItMayAttachNoLongerUnlessItIsAGuests() throws Exception {
        SpaceUse shared = spaces.use(1).orElseThrow();
        SpaceUse guest = exclusively(2);
        Attached.Held[] entries = Stream.of(1L, 2L)
                .map(id -> space(id, 2, 0))
                .map(each -> new SpaceExtents(each.space().withNodes(Optional.of(List.of("b"))), 2, each.extents()))
                .map(each -> held(each.space().id(), false, each))
                .toArray(Attached.Held[]::new);
        step(document(2, entries));
        shared.close();
        done.clear();
        spaces.step();
        assertEquals(List.of("detach 1"), done);
        assertFalse(guest.isRevoked());
    }

    @Test
    void shouldKeepTheAnswerOfACommandWhenAnOlderDocumentArrives() throws Exception {
        SpaceUse use = exclusively(1);
        try (Drops.Writer writer = writer(use)) {
            holds = true;
            step(document(5, held(1, false, space(1, 5, 0))));
            held.remove().run();
            known.put(1L, space(1, 6, 1));
            writer.suspect("c", HOME.value(), true);
            spaces.refresh();
            holds = false;
            pass();
            assertEquals(6, use.map().revision(), done::toString);
            assertTrue(done.contains("drop c from 1"), done::toString);
        }
    }

    /** The document may have been read before the attachment. */
    @Test
    void shouldNotMissAnAttachmentInADocumentThatWasAskedForBefore() throws Exception {
        holds = true;
        step(document(2, held(1, true)));
        SpaceUse use = exclusively(1);
        SpaceUse other = exclusively(2);
        held.remove().run();
        pass();
        assertEquals(List.of("read since 101", "keys 2"), done, "it says nothing of both");
        assertEquals(List.of(), withKeys, "its keys may be of an attachment that has ended");
        document = document(3, held(1, false), held(2, false));
        held.remove().run();
        pass();
        assertEquals(List.of("read since 101", "keys 2", "read since 102", "keys 3"), done);
        assertEquals(List.of(1L, 2L), withKeys);
        assertFalse(use.isRevoked());
        assertFalse(other.isRevoked());
    }

    @Test
    void shouldForgetTheKeysOfASpaceBeforeItAttachesAgain() throws Exception {
        exclusively(1).close();
        spaces.detachWhenUnused(1);
        assertEquals(List.of(), forgotten);
        exclusively(1);
        assertEquals(List.of(1L), forgotten);
    }

    @Test
    void shouldAcknowledgeADropAgainWhoseAcknowledgementWasLost() throws Exception {
        SpaceUse use = exclusively(2);
        try (Drops.Writer writer = writer(use)) {
            writer.settled(9);
            failures.put("acknowledge 2", away());
            step(document(2, held(2, false, with(2, 5, extent(1)))));
            pass();
            failures.clear();
            done.clear();
            now += Errands.RETRY.toNanos() - 1;
            assertEquals(Duration.ofNanos(1), pass());
            assertEquals(List.of(), done);
            now++;
            known.put(2L, space(2, 6, 1));
            pass();
            pass();
            assertEquals(List.of("acknowledge 2", "map 2"), done);
        }
    }

    @Test
    void shouldAcknowledgeNoDropBeforeAllPagersHaveSettled() throws Exception {
        SpaceUse use = exclusively(2);
        Drops.Writers guest = spaces.drops().writers();
        try (Drops.Writer first = guest.add(use.map(), Drops.Options.DEFAULT, _ -> true, () -> {});
                Drops.Writer second = guest.add(use.map(), Drops.Options.DEFAULT, _ -> true, () -> {})) {
            first.settled(5);
            step(document(2, held(2, false, with(2, 5, extent(1)))));
            second.settled(4);
            pass();
            assertFalse(done.contains("acknowledge 2"), done::toString);
            second.settled(5);
            pass();
            assertTrue(done.contains("acknowledge 2"), done::toString);
        }
    }

    /** Another node takes the space over while a home is being promoted. */
    @Test
    void shouldNotGiveAMapToAUseThatHasEndedMeanwhile() throws Exception {
        SpaceUse use = exclusively(2);
        Extent joined = joined();
        step(document(2, held(2, false, with(2, 5, joined))));
        try (Drops.Writer writer = writer(use)) {
            holds = true;
            writer.copied(0, joined.epochNumber());
            pass();
            holds = false;
            step(document(3, held(2, true)));
            assertTrue(use.isRevoked());
            known.put(2L, space(2, 7, 1));
            held.remove().run();
            pass();
            assertTrue(done.contains("promote 2"), done::toString);
            assertTrue(use.map().isLost(0));
        }
    }

    @Test
    void shouldWakeThePagersOfClonesWhenTheirSnapshotHasOtherHomes() throws Exception {
        SpaceUse snapshot = spaces.use(2).orElseThrow();
        SpaceUse clone = exclusively(1);
        try (Drops.Writer reader = writer(clone)) {
            done.clear();
            SpaceExtents other = space(2, 5, 1);
            step(document(
                    2,
                    held(1, false),
                    held(2, false, new SpaceExtents(other.space().withSnapshot(Instant.EPOCH), 5, other.extents()))));
            assertEquals(List.of("read since 101", "map 1", "keys 2"), done);
            assertFalse(reader.hasNoRoom());
        }
        snapshot.close();
    }

    @Test
    void shouldReadTheDocumentAfterARefusalAndAskAgainLater() throws Exception {
        SpaceUse use = exclusively(2);
        Extent joined = joined();
        step(document(2, held(2, false, with(2, 5, joined))));
        try (Drops.Writer writer = writer(use)) {
            failures.put("promote 2", refusal(409, "stale-epoch"));
            writer.copied(0, joined.epochNumber());
            done.clear();
            pass();
            pass();
            assertEquals(List.of("promote 2", "read since 102", "map 2", "keys 2"), done);
        }
    }

    /** A guest may wait for the drop. */
    @Test
    void shouldAskForADropWhileOtherRequestsHang() throws Exception {
        SpaceUse use = exclusively(1);
        spaces.use(3).orElseThrow().close();
        spaces.detachWhenUnused(3);
        done.clear();
        try (Drops.Writer writer = writer(use)) {
            holds = true;
            spaces.refresh();
            pass();
            assertEquals(2, held.size(), "a document and a detachment");
            holds = false;
            known.put(1L, space(1, 6, 1));
            writer.suspect("c", HOME.value(), true);
            pass();
            assertEquals(List.of("drop c from 1", "map 1"), done);
        }
        assertEquals(2, held.size(), "each is under way once");
    }

    /** Two pagers of a guest report the same home. */
    @Test
    void shouldDropAHomeOnce() throws Exception {
        SpaceUse use = exclusively(1);
        try (Drops.Writer writer = writer(use)) {
            DroppedHome dropped = DroppedHome.of(home("c"), 1);
            known.put(1L, with(1, 6, extent(1, List.of(home("b")), List.of(dropped), Optional.empty())));
            writer.suspect("c", HOME.value(), true);
            writer.suspect("c", HOME.value(), true);
            pass();
            pass();
            assertEquals(1, done.stream().filter("drop c from 1"::equals).count(), done::toString);
        }
    }

    @Test
    void shouldNotDropAHomeWhoseLinkIsUpAgain() throws Exception {
        SpaceUse use = exclusively(1);
        try (Drops.Writer writer = writer(use)) {
            writer.suspect("c", HOME.value(), false);
            pass();
            assertFalse(done.contains("drop c from 1"), done::toString);
        }
    }

    /** An answer did not arrive: the coordinator may have attached this node all the same. */
    @Test
    void shouldGiveUpAnAttachmentThatItHasAskedForAndDoesNotHold() throws Exception {
        failures.put("extents 4", away());
        assertThrows(CoordinatorException.class, () -> spaces.use(4));
        failures.clear();
        done.clear();
        step(document(2, held(4, false, space(4, 2, 0)), held(5, false, space(5, 2, 0))));
        assertEquals(List.of("read since 101", "keys 2", "detach 4"), done);
        done.clear();
        assertTrue(spaces.use(4).isPresent());
        assertTrue(spaces.adopt(5, AttachMode.EXCLUSIVE, HOME).isPresent());
        pass();
        assertEquals(
                List.of("attach 4 shared", "extents 4", "adopt 5", "extents 5", "read since 102", "keys 2"),
                done,
                "an attachment that passes to this process is listed before it is adopted");
    }

    /** The keys of that document were not used: the agent did not hold the space. */
    @Test
    void shouldReadAgainWhatListedASpaceBeforeItWasHeld() throws Exception {
        document = document(2, held(4, false, space(4, 2, 0)));
        onNextTime = () -> {
            holds = true;
            spaces.step();
            held.remove().run();
            spaces.step();
        };
        assertTrue(spaces.use(4).isPresent());
        assertEquals(List.of("attach 4 shared", "extents 4", "read since 101", "keys 2"), done);
        done.clear();
        held.remove().run();
        spaces.step();
        held.remove().run();
        spaces.step();
        assertEquals(List.of("read since 102", "keys 2"), done, "it is not given up");
        assertEquals(List.of(4L), withKeys);
    }

    @Test
    void shouldAskForTheWholeDocumentWhileAKeyIsMissing() throws Exception {
        exclusively(1);
        hasAllKeys = false;
        step(document(2, held(1, false)));
        assertEquals(List.of("read since 101", "keys 2", "read since 0"), done, "it may have been left out");
        assertEquals(Duration.ofSeconds(1), spaces.step());
        assertEquals("keys 2", done.getLast());
        done.clear();
        now += Duration.ofMillis(999).toNanos();
        pass();
        assertEquals(List.of(), done);
        now += Duration.ofMillis(1).toNanos();
        hasAllKeys = true;
        pass();
        spaces.refresh();
        pass();
        assertEquals(List.of("read since 0", "keys 2", "read since 102", "keys 2"), done);
    }

    @Test
    void shouldStayAttachedWhileTheCoordinatorIsAway() throws Exception {
        spaces.use(1).orElseThrow().close();
        step(document(2, held(1, false)));
        done.clear();
        failures.put("read since 102", away());
        for (int i = 0; i < 3; i++) {
            now += Spaces.IDLE.toNanos();
            pass();
        }
        assertFalse(done.contains("detach 1"), done::toString);
        spaces.use(1).orElseThrow().close();
        failures.clear();
        now += Spaces.IDLE.toNanos();
        done.clear();
        pass();
        assertEquals(List.of("read since 102", "keys 2", "detach 1"), done);
    }

    @Test
    void shouldReadTheDocumentAgainAfterAFailureAndFromTimeToTime() {
        failures.put("read since 101", away());
        assertEquals(Errands.RETRY, step(document(2)));
        failures.clear();
        now += Errands.RETRY.toNanos();
        pass();
        assertEquals(List.of("read since 101", "read since 101", "keys 2"), done);
        done.clear();
        now += Duration.ofSeconds(30).minusNanos(1).toNanos();
        assertEquals(Duration.ofNanos(1), pass());
        assertEquals(List.of(), done);
        now++;
        pass();
        assertEquals(List.of("read since 102", "keys 2"), done);
    }

    @Test
    void shouldReadTheDocumentOnlyForItsOwnSpaces() throws Exception {
        exclusively(1);
        pass();
        done.clear();
        spaces.changed(2);
        pass();
        assertEquals(List.of(), done);
        spaces.changed(1);
        document = new Attached(
                2,
                102,
                List.of(),
                List.of(new Attached.Pull(2, new ExtentEpoch(0, 1), List.of("b"))),
                List.of(),
                List.of());
        pass();
        done.clear();
        spaces.changed(2);
        pass();
        assertEquals("read since 102", done.getFirst(), "this node pulls an extent of it");
    }
}
