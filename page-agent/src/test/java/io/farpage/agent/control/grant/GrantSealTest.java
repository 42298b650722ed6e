package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.data.shard.DeviceGrants;
import io.farpage.agent.data.shard.GrantedRanges;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.TransportKind;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A grant is opened by the attached node alone, and only as what it was sealed for. */
final class GrantSealTest {
    private static final Incarnation ONE = new Incarnation(1);
    private static final Incarnation TWO = new Incarnation(2);
    private static final GrantParties PARTIES = new GrantParties(7, "home", ONE, "guest", TWO, 5, Optional.empty());
    private static final GrantContent CONTENT = new GrantContent(List.of(new GrantContent.Range(
            4096, 8192, new RemoteAddress(0x7f00_0000_1000L), List.of(new RegionKey("soft0", 3_735_928_559L)))));

    private final LinkKeys home = LinkKeys.generate("home", ONE, Optional.empty());
    private final LinkKeys guest = LinkKeys.generate("guest", TWO, Optional.empty());
    private final GrantRequest sealed = seal(PARTIES);

    private static Node node(String id, Incarnation incarnation, LinkKeys keys) {
        return new Node(
                id,
                incarnation,
                "host",
                "127.0.0.1:1",
                1,
                1 << 20,
                List.of(),
                new PoolInfo(1 << 20, 4096, Optional.empty()),
                List.of(TransportKind.TCP),
                Optional.of(keys.published()),
                NodeStatus.ACTIVE,
                Optional.empty(),
                Instant.EPOCH,
                Optional.empty());
    }

    private GrantRequest seal(GrantParties parties) {
        try {
            return new GrantSeal(home).seal(parties, CONTENT, 1, node("guest", parties.incarnation(), guest));
        } catch (GrantException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Grant said(GrantParties parties, String text) {
        return new Grant(
                parties.space(),
                parties.home(),
                parties.homeIncarnation(),
                parties.node(),
                parties.incarnation(),
                parties.attachment(),
                parties.pull(),
                1,
                text);
    }

    private String refused(Grant grant) {
        return refused(guest, grant, PARTIES);
    }

    private String refused(LinkKeys by, Grant grant, GrantParties expected) {
        GrantException e = assertThrows(
                GrantException.class,
                () -> new GrantSeal(by).open(grant, expected, node("home", expected.homeIncarnation(), home)));
        return String.valueOf(e.getMessage());
    }

    @Test
    void shouldOpenWhatItsHomeHasSealed() throws Exception {
        assertEquals(
                CONTENT, new GrantSeal(guest).open(said(PARTIES, sealed.sealed()), PARTIES, node("home", ONE, home)));
        String text = new String(Base64.getDecoder().decode(sealed.sealed()), StandardCharsets.ISO_8859_1);
        assertFalse(text.contains("rkey") || text.contains("3735928559"), "no key is readable");
        assertNotEquals(sealed.sealed(), seal(PARTIES).sealed(), "each grant has a nonce of its own");
    }

    @Test
    void shouldRefuseAGrantOfWhichAnyBitWasAltered() {
        byte[] whole = Base64.getDecoder().decode(sealed.sealed());
        for (int bit = 0; bit < whole.length * 8; bit++) {
            whole[bit / 8] ^= (byte) (1 << bit % 8);
            String reason = refused(said(PARTIES, Base64.getEncoder().encodeToString(whole)));
            assertTrue(reason.contains("it was altered"), reason);
            whole[bit / 8] ^= (byte) (1 << bit % 8);
        }
        for (String cut : List.of("", "AAAA", "?", sealed.sealed().substring(0, 40))) {
            String reason = refused(said(PARTIES, cut));
            assertTrue(reason.startsWith("grant of space 7 by home 'home' for node 'guest': "), reason);
        }
    }

    @Test
    void shouldNameWhatAGrantOfOtherPartiesDiffersIn() {
        requireReason(
                "the space with id 8, not 7", new GrantParties(8, "home", ONE, "guest", TWO, 5, Optional.empty()));
        requireReason("home other, not home", new GrantParties(7, "other", ONE, "guest", TWO, 5, Optional.empty()));
        requireReason(
                "incarnation of the home 0000000000000009, not 0000000000000001",
                new GrantParties(7, "home", new Incarnation(9), "guest", TWO, 5, Optional.empty()));
        requireReason("node other, not guest", new GrantParties(7, "home", ONE, "other", TWO, 5, Optional.empty()));
        requireReason(
                "incarnation of the node 0000000000000001, not 0000000000000002",
                new GrantParties(7, "home", ONE, "guest", ONE, 5, Optional.empty()));
        requireReason("attachment 6, not 5", new GrantParties(7, "home", ONE, "guest", TWO, 6, Optional.empty()));
    }

    private void requireReason(String expected, GrantParties other) {
        String reason = refused(said(other, sealed.sealed()));
        assertTrue(reason.contains(expected), reason);
    }

    @Test
    void shouldRefuseAGrantThatIsSealedForOtherParties() {
        for (GrantParties other : List.of(
                new GrantParties(8, "home", ONE, "guest", TWO, 5, Optional.empty()),
                new GrantParties(7, "home", new Incarnation(9), "guest", TWO, 5, Optional.empty()),
                new GrantParties(7, "home", ONE, "guest", new Incarnation(9), 5, Optional.empty()),
                new GrantParties(7, "home", ONE, "guest", TWO, 6, Optional.empty()))) {
            String reason = refused(said(PARTIES, seal(other).sealed()));
            assertTrue(reason.contains("sealed for another space, node, incarnation or attachment"), reason);
        }
    }

    @Test
    void shouldNotOpenForAnyOtherNode() {
        LinkKeys stranger = LinkKeys.generate("guest", TWO, Optional.empty());
        assertTrue(refused(stranger, said(PARTIES, sealed.sealed()), PARTIES).contains("does not open"));
        assertTrue(refused(home, said(PARTIES, sealed.sealed()), PARTIES).contains("does not open"));
    }

    @Test
    void shouldRefuseToSealForAnIncarnationThatIsGone() {
        GrantException e = assertThrows(
                GrantException.class, () -> new GrantSeal(home).seal(PARTIES, CONTENT, 1, node("guest", ONE, guest)));
        assertTrue(String.valueOf(e.getMessage()).contains("runs as incarnation 0000000000000001 by now"));
    }

    @Test
    void shouldUseTheNewestGrantWhereRangesOverlap() {
        GrantContent newer = new GrantContent(
                List.of(new GrantContent.Range(0, 8192, new RemoteAddress(0), List.of(new RegionKey("soft0", 2)))));
        PeerGrants joined = ReceivedGrant.join(List.of(
                new ReceivedGrant(PARTIES, "old", CONTENT, false),
                new ReceivedGrant(
                        new GrantParties(9, "home", ONE, "guest", TWO, 5, Optional.empty()), "new", newer, false)));
        assertEquals(1, joined.incarnation());
        assertEquals(
                new GrantedRanges.Range(0, 8192, 0, 2),
                joined.on(1, "soft0").attachments().ranges().getFirst());
        assertEquals(DeviceGrants.NOTHING, joined.on(2, "soft0"));
        assertEquals(DeviceGrants.NOTHING, joined.on(1, "mlx5_0"));
        assertEquals(PeerGrants.NOTHING, ReceivedGrant.join(List.of()));
    }
}
