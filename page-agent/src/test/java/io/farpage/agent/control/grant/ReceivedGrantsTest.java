package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.data.shard.GrantedRanges;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.TransportKind;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Which keys the links have after each document. */
final class ReceivedGrantsTest {
    private static final Incarnation SELF = new Incarnation(7);
    private static final Incarnation HOME = new Incarnation(1);
    private static final Incarnation LATER = new Incarnation(2);
    private static final long ATTACHMENT = 40;
    private static final long SPACE = 5;
    private static final int PAGE = 4096;
    private static final ExtentEpoch PULLED = new ExtentEpoch(0, 3);

    private final LinkKeys keys = LinkKeys.generate("a", SELF, Optional.empty());
    private final Map<String, LinkKeys> homes = new HashMap<>();
    /** What the links have, by home: first offset and key of each range. */
    private final Map<String, List<String>> installed = new HashMap<>();

    private final List<String> wanted = new ArrayList<>();
    private long now;
    private final ReceivedGrants grants =
            new ReceivedGrants("a", SELF, new GrantSeal(keys), new RecordedLinks(), () -> now);

    private final class RecordedLinks implements ReceivedGrants.Links {
        @Override
        public void want(String peer) {
            wanted.add(peer);
        }

        @Override
        public void grant(String peer, PeerGrants given) {
            List<String> ranges = new ArrayList<>();
            given.byDevice().values().forEach(on -> {
                if (!on.attachments().equals(GrantedRanges.NOTHING)) {
                    ranges.add("incarnation %d, space".formatted(given.incarnation()));
                }
                if (!on.pulls().equals(GrantedRanges.NOTHING)) {
                    ranges.add("incarnation %d, pull".formatted(given.incarnation()));
                }
            });
            installed.put(peer, ranges);
        }
    }

    private LinkKeys keys(String home, Incarnation incarnation) {
        return homes.computeIfAbsent(home + incarnation, _ -> LinkKeys.generate(home, incarnation, Optional.empty()));
    }

    /** A home as it is registered; one that has adopted a pool has that of an earlier incarnation. */
    private Node home(String id, Incarnation incarnation, Incarnation pool) {
        return node(id, incarnation, new PoolInfo(1 << 20, PAGE, Optional.of(pool)), keys(id, incarnation));
    }

    private static Node node(String id, Incarnation incarnation, PoolInfo pool, LinkKeys keys) {
        return new Node(
                id,
                incarnation,
                "host",
                "127.0.0.1:1",
                1,
                1 << 20,
                List.of(),
                pool,
                List.of(TransportKind.TCP),
                Optional.of(keys.published()),
                NodeStatus.ACTIVE,
                Optional.empty(),
                Instant.EPOCH,
                Optional.empty());
    }

    private Grant grant(long space, Node home, Optional<ExtentEpoch> pull, long rkey) {
        return grant(space, home, pull.isPresent() ? 0 : ATTACHMENT, pull, rkey);
    }

    private Grant grant(long space, Node home, long attachment, Optional<ExtentEpoch> pull, long rkey) {
        GrantParties parties = new GrantParties(space, home.id(), home.incarnation(), "a", SELF, attachment, pull);
        GrantContent content = new GrantContent(List.of(new GrantContent.Range(
                0, 8 * PAGE, new RemoteAddress(0x7f00_0000_1000L), List.of(new RegionKey("soft0", rkey)))));
        try {
            GrantRequest sealed = new GrantSeal(keys(home.id(), home.incarnation()))
                    .seal(parties, content, 1, node("a", SELF, new PoolInfo(0, PAGE, Optional.empty()), keys));
            return new Grant(space, home.id(), home.incarnation(), "a", SELF, attachment, pull, 1, sealed.sealed());
        } catch (GrantException e) {
            throw new IllegalStateException(e);
        }
    }

    private Grant grant(Node home, long rkey) {
        return grant(SPACE, home, Optional.empty(), rkey);
    }

    private static SpaceExtents space(ExtentState state, ExtentHome... places) {
        Space space = new Space(SPACE, "vm", 8L * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false);
        return new SpaceExtents(space, 1, List.of(new Extent(0, 8, List.of(places), state)));
    }

    private static SpaceExtents space(String home, Incarnation pool) {
        return space(ExtentState.OK, new ExtentHome(home, pool, 0));
    }

    private boolean follow(List<SpaceExtents> spaces, List<Node> nodes, Grant... given) {
        return follow(ATTACHMENT, spaces, nodes, given);
    }

    private boolean follow(long attachment, List<SpaceExtents> spaces, List<Node> nodes, Grant... given) {
        List<Attached.Held> held = spaces.stream()
                .map(space -> space.space().id())
                .distinct()
                .map(id -> new Attachment(id, "a", SELF, AttachMode.SHARED, attachment))
                .map(made -> new Attached.Held(made, false, Optional.empty()))
                .toList();
        return grants.follow(new Attached(1, 1, held, List.of(), List.of(given), nodes), spaces);
    }

    @Test
    void shouldUseTheGrantOfAHomeWhenItIsPublished() {
        Node home = home("b", HOME, HOME);
        List<SpaceExtents> spaces = List.of(space("b", HOME));
        assertFalse(follow(spaces, List.of(home)));
        assertEquals(List.of("b"), wanted, "the link is made meanwhile");
        assertEquals(Map.of(), installed);
        now += ReceivedGrants.PATIENCE.toNanos() + 1;
        assertFalse(follow(spaces, List.of(home)));
        assertTrue(follow(spaces, List.of(home), grant(home, 11)));
        assertEquals(List.of("incarnation 1, space"), installed.get("b"));
    }

    /** It lists what it has in memory, and no grant again that was in the document before. */
    @Test
    void shouldKeepAGrantThatTheCoordinatorDoesNotListAnyMore() {
        Node home = home("b", HOME, HOME);
        List<SpaceExtents> spaces = List.of(space("b", HOME));
        follow(spaces, List.of(home), grant(home, 11));
        installed.clear();
        assertTrue(follow(spaces, List.of(home)));
        assertEquals(Map.of(), installed, "the links are left as they are");
    }

    /** Its pages are in messages, and homes give no keys. */
    @Test
    void shouldWantOnlyALinkToTheHomeOfACoherentSpace() {
        SpaceExtents plain = space("b", HOME);
        SpaceExtents coherent = new SpaceExtents(plain.space().withCoherent(), plain.revision(), plain.extents());
        assertTrue(follow(List.of(coherent), List.of(home("b", HOME, HOME), home("c", HOME, HOME))));
        assertEquals(List.of("b"), wanted);
    }

    @Test
    void shouldUseNoGrantOfASpaceThatIsNotAttached() {
        Node home = home("b", HOME, HOME);
        List<SpaceExtents> spaces = List.of(space("b", HOME));
        assertTrue(follow(List.of(), List.of(home), grant(home, 11)));
        assertEquals(Map.of(), installed);
        follow(spaces, List.of(home), grant(home, 11));
        assertTrue(follow(List.of(), List.of(home)));
        assertEquals(List.of(), installed.get("b"), "it is detached");
    }

    /** Homes have revoked its keys, and it may attach again before the next document. */
    @Test
    void shouldUseNoKeyFromBeforeItWasDetached() {
        Node home = home("b", HOME, HOME);
        List<SpaceExtents> spaces = List.of(space("b", HOME));
        follow(spaces, List.of(home), grant(home, 11));
        grants.forget(SPACE + 1);
        assertEquals(List.of("incarnation 1, space"), installed.get("b"));
        grants.forget(SPACE);
        assertEquals(List.of(), installed.get("b"));
        assertFalse(follow(spaces, List.of(home)));
        assertTrue(follow(spaces, List.of(home), grant(home, 12)));
        assertEquals(List.of("incarnation 1, space"), installed.get("b"));
    }

    /** The home has revoked the key with the room. The coordinator lists the grant until the home publishes another. */
    @Test
    void shouldNotUseAKeyAgainWhenItsHomeGetsTheSamePlaceAnew() {
        Node home = home("b", HOME, HOME);
        Node other = home("c", LATER, LATER);
        List<SpaceExtents> there = List.of(space("b", HOME));
        Grant first = grant(home, 11);
        follow(there, List.of(home, other), first);
        follow(List.of(space("c", LATER)), List.of(home, other));
        assertEquals(List.of(), installed.get("b"), "the map names the place no longer");
        assertFalse(follow(there, List.of(home, other), first));
        assertEquals(List.of(), installed.get("b"));
        assertTrue(follow(there, List.of(home, other), grant(home, 12)));
        assertEquals(List.of("incarnation 1, space"), installed.get("b"));
    }

    /** A map can come before the next document, and name the same place of the home again. */
    @Test
    void shouldUseNoKeyOfAPlaceThatALaterMapDoesNotName() {
        Node home = home("b", HOME, HOME);
        List<SpaceExtents> spaces = List.of(space("b", HOME));
        Grant first = grant(home, 11);
        follow(spaces, List.of(home), first);
        grants.restrict(space("b", HOME));
        assertEquals(List.of("incarnation 1, space"), installed.get("b"), "the map names the place");
        grants.restrict(space(ExtentState.OK));
        assertEquals(List.of(), installed.get("b"));
        assertFalse(follow(spaces, List.of(home), first));
        assertTrue(follow(spaces, List.of(home), grant(home, 12)));
        assertEquals(List.of("incarnation 1, space"), installed.get("b"));
    }

    @Test
    void shouldUseNoGrantOfAnotherAttachmentOfTheNode() {
        Node home = home("b", HOME, HOME);
        List<SpaceExtents> spaces = List.of(space("b", HOME));
        Grant earlier = grant(home, 11);
        follow(spaces, List.of(home), earlier);
        assertFalse(follow(ATTACHMENT + 1, spaces, List.of(home), earlier), "its keys are dead");
        assertEquals(List.of(), installed.get("b"));
        Grant now = grant(SPACE, home, ATTACHMENT + 1, Optional.empty(), 12);
        assertTrue(follow(ATTACHMENT + 1, spaces, List.of(home), now));
        assertEquals(List.of("incarnation 1, space"), installed.get("b"));
    }

    @Test
    void shouldNeedNoKeyOfItsOwnPoolNorOfALostExtent() {
        assertTrue(follow(
                List.of(space("a", SELF), space(ExtentState.LOST, new ExtentHome("b", HOME, 0))),
                List.of(home("b", HOME, HOME))));
        assertEquals(List.of(), wanted);
    }

    @Test
    void shouldNeedTheKeysOfAHomeThatJoins() {
        Node home = home("b", HOME, HOME);
        Node joins = home("c", LATER, LATER);
        SpaceExtents before = space("b", HOME);
        Extent joined = new Extent(
                0,
                8,
                before.extents().getFirst().homes(),
                ExtentState.OK,
                OptionalLong.of(1),
                Optional.empty(),
                Optional.of(new ExtentHome("c", LATER, 0)),
                Optional.of(PullState.AWAITED));
        SpaceExtents now = new SpaceExtents(before.space(), 2, List.of(joined));
        assertFalse(follow(List.of(now), List.of(home, joins), grant(home, 11)));
        assertTrue(follow(List.of(now), List.of(home, joins), grant(joins, 12)));
        assertEquals(List.of("incarnation 2, space"), installed.get("c"));
    }

    /** The process of the home was started again, and has adopted the pool. Its keys are others. */
    @Test
    void shouldUseTheGrantOfTheProcessThatHasThePoolNow() {
        Node before = home("b", HOME, HOME);
        List<SpaceExtents> spaces = List.of(space("b", HOME));
        follow(spaces, List.of(before), grant(before, 11));
        Node after = home("b", LATER, HOME);
        assertFalse(follow(spaces, List.of(after)));
        assertEquals(List.of(), installed.get("b"), "the keys of the former process are dead");
        assertFalse(follow(spaces, List.of(after), grant(before, 11)), "it is not of the process that is registered");
        assertTrue(follow(spaces, List.of(after), grant(after, 12)));
        assertEquals(List.of("incarnation 2, space"), installed.get("b"));
    }

    /** The map names the pool that is gone, until the extent is lost or has another home. */
    @Test
    void shouldNeedNoKeyOfAHomeThatHasRejoinedWithAnotherPool() {
        Node before = home("b", HOME, HOME);
        follow(List.of(space("b", HOME)), List.of(before), grant(before, 11));
        Node after = home("b", LATER, LATER);
        assertTrue(follow(List.of(space("b", HOME)), List.of(after)));
        assertEquals(List.of(), installed.get("b"));
        assertFalse(follow(List.of(space("b", LATER)), List.of(after)));
        assertTrue(follow(List.of(space("b", LATER)), List.of(after), grant(after, 12)));
        assertEquals(List.of("incarnation 2, space"), installed.get("b"));
    }

    @Test
    void shouldUseNoKeyThatItsHomeHasRefusedUntilAnotherIsPublished() {
        Node home = home("b", HOME, HOME);
        List<SpaceExtents> spaces = List.of(space("b", HOME));
        Grant first = grant(home, 11);
        follow(spaces, List.of(home), first);
        grants.refused("b", LATER.value(), PAGE, 11);
        grants.refused("c", HOME.value(), PAGE, 11);
        grants.refused("b", HOME.value(), PAGE, 12);
        assertEquals(List.of("incarnation 1, space"), installed.get("b"), "of others");
        grants.refused("b", HOME.value(), PAGE, 11);
        assertEquals(List.of(), installed.get("b"));
        assertFalse(follow(spaces, List.of(home), first), "the same again");
        assertEquals(List.of(), installed.get("b"));
        assertTrue(follow(spaces, List.of(home), grant(home, 12)));
        assertEquals(List.of("incarnation 1, space"), installed.get("b"));
    }

    @Test
    void shouldUseTheKeysOfAPullAsLongAsThePullLasts() {
        Node home = home("b", HOME, HOME);
        Attached pulling = new Attached(
                1, 1, List.of(), List.of(new Attached.Pull(SPACE, PULLED, List.of("b"))), List.of(), List.of(home));
        assertFalse(grants.follow(pulling, List.of()));
        Grant other = grant(SPACE, home, Optional.of(new ExtentEpoch(0, 2)), 11);
        Grant given = grant(SPACE, home, Optional.of(PULLED), 12);
        assertFalse(grants.follow(with(pulling, other), List.of()), "the keys of an earlier pull are dead");
        assertEquals(Map.of(), installed);
        assertTrue(grants.follow(with(pulling, other, given), List.of()));
        assertEquals(List.of("incarnation 1, pull"), installed.get("b"));
        assertTrue(follow(List.of(), List.of(home)));
        assertEquals(List.of(), installed.get("b"));
    }

    private static Attached with(Attached document, Grant... given) {
        return new Attached(1, 1, List.of(), document.pulls(), List.of(given), document.homes());
    }

    @Test
    void shouldNotUseAGrantThatWasAlteredOrSealedForAnotherUse() {
        Node home = home("b", HOME, HOME);
        List<SpaceExtents> spaces = List.of(space("b", HOME));
        Grant ofAnother = grant(SPACE + 1, home, Optional.empty(), 11);
        Grant passedOff = new Grant(SPACE, "b", HOME, "a", SELF, ATTACHMENT, Optional.empty(), 1, ofAnother.sealed());
        assertFalse(follow(spaces, List.of(home), passedOff));
        Grant ofPull = grant(SPACE, home, Optional.of(PULLED), 11);
        assertFalse(follow(
                spaces,
                List.of(home),
                new Grant(SPACE, "b", HOME, "a", SELF, ATTACHMENT, Optional.empty(), 1, ofPull.sealed())));
        assertEquals(Map.of(), installed);
        assertTrue(follow(spaces, List.of(home), grant(home, 11)));
    }

    @Test
    void shouldLeaveTheLinksAsTheyAreAfterItWasClosed() {
        Node home = home("b", HOME, HOME);
        follow(List.of(space("b", HOME)), List.of(home), grant(home, 11));
        grants.close();
        assertTrue(follow(List.of(), List.of(home)));
        assertEquals(List.of("incarnation 1, space"), installed.get("b"));
    }
}
