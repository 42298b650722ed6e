package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.FailingRequests;
import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.guest.GuestException.Obstacle;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.ThreadScheduling;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.rest.Json;
import io.farpage.rest.Problem;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an agent asks the coordinator for when a guest is attached to a clone. The coordinator is real. */
final class AttachedGuestsTest {
    private static final int PAGE = 4096;
    private static final long POOL_BYTES = 8 << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final Incarnation SELF = new Incarnation(3);
    private static final String SPACES = "/api/v1/spaces/";

    @TempDir
    private Path directory = Path.of("");

    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private TestCoordinator coordinator;
    private FailingRequests between;
    private CoordinatorClient client;
    private PagePool pool;
    private Spaces spaces;
    private Guests guests;

    @BeforeEach
    void makeClones() throws Exception {
        coordinator = new TestCoordinator(directory.resolve("store"));
        coordinator.register("a", SELF, POOL_BYTES);
        SpaceRequest golden = new SpaceRequest("golden", 1 << 20, OptionalInt.of(PAGE), Optional.of(List.of("a")));
        coordinator.client().createSpace(golden);
        long revision = coordinator.client().hosted("a").revision();
        coordinator.client().acknowledgeHosted("a", new HostedAck(SELF, revision, List.of(), List.of()));
        coordinator.client().makeSnapshot("golden");
        for (String clone : List.of("first", "second")) {
            coordinator.client().makeClone("golden", new CloneRequest(clone));
        }
        between = new FailingRequests(coordinator.url());
        client = new CoordinatorClient(between.url(), Duration.ofSeconds(10));
        pool = PagePool.open(PoolConfig.of("a", SELF.value(), POOL_BYTES, 1 << 20)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        spaces = new Spaces(client, "a", SELF);
        LocalNode self = new LocalNode("a", SELF, pool, client, LinkKeys.generate("a", SELF, Optional.empty()));
        PageTool pages = new PageTool(self, loop, PeerLink::new, 1, DEADLINE);
        guests = new Guests(
                self,
                spaces,
                new SpacePresence(pages),
                List.of(loop),
                (peer, _) -> new PeerLink(peer),
                Optional.empty(),
                new GuestOptions(
                        4,
                        DEADLINE,
                        DEADLINE,
                        Duration.ZERO,
                        new PinPolicy(PinPolicy.Mode.HOLD, Duration.ZERO),
                        new Seals(Seals.Options.none(directory)),
                        Drops.Options.DEFAULT,
                        new GuestKeeping("a", SELF, Optional.empty()),
                        VictimMemory.NONE));
        loop.start();
    }

    @AfterEach
    void close() {
        guests.close();
        spaces.close();
        loop.close();
        pool.close();
        client.close();
        between.close();
        coordinator.close();
    }

    private GuestStatus attach(String space) throws Exception {
        return guests.attach(space, request(space));
    }

    private GuestRequest request(String space) {
        return GuestRequest.at(directory.resolve(space + ".sock"));
    }

    private long id(String space) throws Exception {
        return coordinator.client().space(space).orElseThrow().id();
    }

    @Test
    void shouldResolveNameOfSpaceOnceWhenGuestIsAttached() throws Exception {
        assertEquals(id("first"), attach("first").spaceId());
        assertEquals(1, between.count("GET " + SPACES + "first"));
        assertEquals(
                AttachMode.EXCLUSIVE,
                coordinator.client().attachments("first").getFirst().mode());
    }

    @Test
    void shouldLearnExtentsFromTheAnswerToTheAttachment() throws Exception {
        long id = attach("first").spaceId();
        assertEquals(1, between.count("PUT " + SPACES + id + "/attachments/a?extents=true"));
        assertEquals(0, between.count("GET " + SPACES + id + "/extents"));
        assertEquals(
                coordinator.client().extents("first").orElseThrow().extents(),
                spaces.held().spaces().stream()
                        .filter(held -> held.space().id() == id)
                        .findFirst()
                        .orElseThrow()
                        .extents());
    }

    /** The other guest is attached while the coordinator's answer for the first one is on its way. */
    @Test
    void shouldAttachGuestsBesideEachOther() throws Exception {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        between.beforeAnswering(attachmentOf("first"), () -> {
            try {
                assertTrue(guests.leave().orElseThrow().contains("to space 'first'"), "no other process takes over");
                assertEquals(id("second"), attach("second").spaceId());
            } catch (Exception | AssertionError e) {
                failure.set(e);
            }
        });
        assertEquals(id("first"), attach("first").spaceId());
        assertNull(failure.get());
        assertEquals(
                List.of("first", "second"),
                guests.status().stream().map(GuestStatus::space).toList());
    }

    /** A client that has not waited for the answer to its attachment takes it back. */
    @Test
    void shouldDetachGuestThatIsBeingAttachedOnceItIs() throws Exception {
        CompletableFuture<Void> detached = new CompletableFuture<>();
        between.beforeAnswering(
                attachmentOf("first"),
                () -> Thread.ofVirtual().start(() -> {
                    try {
                        guests.detach("first");
                        detached.complete(null);
                    } catch (GuestException e) {
                        detached.completeExceptionally(e);
                    }
                }));
        attach("first");
        Deadlines.get("the detachment", Deadlines.SHORT, detached);
        assertEquals(List.of(), guests.status());
    }

    private String attachmentOf(String space) throws Exception {
        return SPACES + id(space) + "/attachments/a?extents=true";
    }

    /** Its guest needs it before the first page. */
    @Test
    void shouldKnowMarkOfSnapshotsPresenceMapWithoutRequest() throws Exception {
        long golden = id("golden");
        try (SpaceUse snapshot = spaces.use(golden).orElseThrow()) {
            assertEquals(Optional.of(Presence.ZEROS), snapshot.presence());
        }
        assertEquals(0, between.count("GET " + SPACES + golden));
    }

    private static final String DOCUMENT = "GET /api/v1/nodes/a/attached";
    private static final String NEW_CLONE = SPACES + "golden/clones/third/attachments/a";

    private GuestStatus attachClone(String snapshot, String name) throws Exception {
        return guests.attach(name, request(name).withCloneOf(snapshot));
    }

    @Test
    void shouldMakeTheCloneOfAGuestAndAttachItInOneRequest() throws Exception {
        GuestStatus status = attachClone("golden", "third");
        assertEquals(id("third"), status.spaceId());
        assertEquals(1, between.count("PUT " + NEW_CLONE));
        assertEquals(0, between.count("GET " + SPACES + "third"));
        assertEquals(
                AttachMode.EXCLUSIVE,
                coordinator.client().attachments("third").getFirst().mode());
        assertEquals(
                OptionalLong.of(id("golden")),
                coordinator.client().space("third").orElseThrow().base());
    }

    @Test
    void shouldAttachTheCloneThatAnEarlierRequestHasMade() throws Exception {
        assertEquals(id("first"), attachClone("golden", "first").spaceId());
        guests.detach("first");
        assertEquals(
                id("first"), attachClone(Long.toString(id("golden")), "first").spaceId());
    }

    @Test
    void shouldRefuseACloneWhoseNameAnotherSpaceHas() throws Exception {
        coordinator.client().createSpace(new SpaceRequest("plain", 1 << 20, OptionalInt.of(PAGE), Optional.empty()));
        GuestException refusal = assertThrows(GuestException.class, () -> attachClone("golden", "plain"));
        assertEquals(Obstacle.CONFLICT, refusal.obstacle());
        assertEquals(
                "space 'plain' exists and is not a clone of 'golden'; leave cloneOf out, or choose another name",
                refusal.getMessage());
    }

    private String refusedClone(String snapshot, String name) {
        return String.valueOf(assertThrows(GuestException.class, () -> attachClone(snapshot, name))
                .getMessage());
    }

    @Test
    void shouldRefuseACloneOfWhatIsNoSnapshot() throws Exception {
        CoordinatorRefusedException refusal =
                assertThrows(CoordinatorRefusedException.class, () -> attachClone("first", "third"));
        assertTrue(refusal.problem().is("no-snapshot"), refusal::getMessage);
        assertEquals(Optional.empty(), coordinator.client().space("third"));
    }

    @Test
    void shouldRefuseACloneWithASizeOrANameOfDigits() {
        GuestRequest sized = Json.STRICT.readValue(
                "{\"socket\":\"/third.sock\",\"sizeBytes\":1048576,\"cloneOf\":\"golden\"}", GuestRequest.class);
        assertEquals(
                "sizeBytes: a clone is as its snapshot 'golden'; leave sizeBytes out, or cloneOf",
                assertThrows(GuestException.class, () -> guests.attach("third", sized))
                        .getMessage());
        assertEquals("name: '17' must not be all digits", refusedClone("golden", "17"));
    }

    @Test
    void shouldMakeACloneAtACoordinatorOfAnEarlierBuild() throws Exception {
        between.refuse(NEW_CLONE, 1, new Problem("about:blank", "Not found", 404, "there is nothing there", NEW_CLONE));
        long made = attachClone("golden", "third").spaceId();
        assertEquals(id("third"), made);
        assertEquals(1, between.count("POST " + SPACES + "golden/clones"));
    }

    @Test
    void shouldSayHowACloneIsMadeThatTheNodeMayNotMake() {
        between.refuse(
                NEW_CLONE,
                1,
                new Problem("urn:farpage:problem:forbidden", "Forbidden", 403, "it takes role operator", NEW_CLONE));
        GuestException refusal = assertThrows(GuestException.class, () -> attachClone("golden", "third"));
        assertEquals(Obstacle.FORBIDDEN, refusal.obstacle());
        assertTrue(String.valueOf(refusal.getMessage()).endsWith("coordinator space clone golden --name third"));
    }

    /** One that is asked for from now on: the next one is asked for once it is applied. */
    private void applyDocument() {
        for (int i = 0; i < 2; i++) {
            int read = between.countOf(DOCUMENT);
            spaces.refresh();
            Deadlines.await("a document", Deadlines.SHORT).until(() -> between.countOf(DOCUMENT) > read);
        }
    }

    /** The answer is lost: the node is attached to a clone, and knows its name alone. */
    @Test
    void shouldDetachTheCloneWhoseAnswerWasLost() throws Exception {
        spaces.start((_, _) -> true);
        between.beforeAnswering(NEW_CLONE, () -> {
            throw new IllegalStateException("the answer is lost");
        });
        assertThrows(CoordinatorUnreachableException.class, () -> attachClone("golden", "third"));
        Deadlines.await("the detachment", Deadlines.SHORT)
                .until(() -> coordinator.client().attachments("third").isEmpty());
        assertEquals(id("third"), attachClone("golden", "third").spaceId());
    }

    /** A document that lists the clone is applied before the answer has arrived. */
    @Test
    void shouldKeepACloneThatADocumentListsBeforeTheAnswer() throws Exception {
        spaces.start((_, _) -> true);
        AtomicLong made = new AtomicLong();
        between.beforeAnswering(NEW_CLONE, () -> {
            made.set(attachmentToThird());
            applyDocument();
        });
        attachClone("golden", "third");
        applyDocument();
        assertEquals(made.get(), attachmentToThird());
    }

    private long attachmentToThird() {
        try {
            return coordinator.client().attachments("third").getFirst().id();
        } catch (CoordinatorException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void shouldRefuseGuestWhenThereIsNoSuchSpace() {
        GuestException refusal = assertThrows(GuestException.class, () -> attach("other"));
        assertEquals(Obstacle.NOT_FOUND, refusal.obstacle());
    }

    @Test
    void shouldRefuseSecondGuestOfSpace() throws Exception {
        attach("first");
        GuestException refusal = assertThrows(GuestException.class, () -> attach("first"));
        assertEquals(Obstacle.CONFLICT, refusal.obstacle());
    }
}
