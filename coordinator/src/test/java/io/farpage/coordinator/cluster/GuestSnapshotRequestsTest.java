package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which requests for a snapshot of a running guest are refused, and what a repeated one answers. */
class GuestSnapshotRequestsTest {
    private static final int PAGE = 4096;
    private static final long WRITER = 9;
    private static final Incarnation HOME = new Incarnation(1);
    private static final String KEY = "0123456789abcdef";
    private static final String OTHER_KEY = "fedcba9876543210";

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Snapshots snapshots = new Snapshots(with.ledger, with.time);

    private record Rows(List<Space> spaces, List<List<Extent>> extents, List<Attachment> attachments) {}

    @BeforeEach
    void attachAGuest() {
        with.membership.register("h", Fixture.node(HOME.value(), 64 * PAGE));
        with.membership.register("w", Fixture.node(WRITER, 4 * PAGE));
        with.spaces.create(SpaceRequest.of("vm", 8 * PAGE));
        attach("vm", request(AttachMode.EXCLUSIVE));
    }

    private static AttachRequest request(AttachMode mode) {
        return new AttachRequest(new Incarnation(WRITER), mode, Optional.empty(), Optional.of(Feature.words()));
    }

    private void attach(String space, AttachRequest request) {
        attachments.attach(space, "w", request);
    }

    private void detach(String space) {
        attachments.detach(space, "w", new Incarnation(WRITER), Detachment.PLAIN);
    }

    private Space make(String space, long incarnation, String name, String key, int attempt) {
        return snapshots.makeOfGuest(
                space, "w", new SnapshotRequest(new Incarnation(incarnation), name, key, attempt, Optional.empty()));
    }

    private Space make(String name, String key, int attempt) {
        return make("vm", WRITER, name, key, attempt);
    }

    private Rows rows() {
        List<Space> spaces = with.spaces.all();
        return new Rows(
                spaces,
                spaces.stream()
                        .map(space -> with.spaces.extents(space.name()).extents())
                        .toList(),
                List.copyOf(with.ledger.state().attachments().values()));
    }

    /** A request is refused, and has changed nothing. */
    private void refused(String word, String said, Runnable request) {
        Rows before = rows();
        ProblemException refused = assertThrows(ProblemException.class, request::run);
        assertTrue(refused.problem("").is(word), refused::getMessage);
        assertTrue(refused.problem("").detail().contains(said), refused::getMessage);
        assertEquals(before, rows());
    }

    @Test
    void shouldRefuseANodeThatDoesNotHaveTheSpaceAlone() {
        refused("stale-incarnation", "'w'", () -> make("vm", WRITER + 1, "s", KEY, 1));
        detach("vm");
        refused("not-attached", "exclusively", () -> make("s", KEY, 2));
        attach("vm", request(AttachMode.SHARED));
        refused("not-attached", "exclusively", () -> make("s", KEY, 3));
        detach("vm");
        attach("vm", request(AttachMode.EXCLUSIVE));
        make("s", KEY, 4);
    }

    @Test
    void shouldRefuseAnEncryptedSpace() {
        with.spaces.create(new SpaceRequest(
                "secret",
                PAGE,
                OptionalInt.empty(),
                Optional.empty(),
                Optional.of("0123456789abcdef"),
                Optional.empty(),
                OptionalInt.empty()));
        attach("secret", request(AttachMode.EXCLUSIVE));
        refused("encrypted", "can open its pages", () -> make("secret", WRITER, "s", KEY, 1));
    }

    @Test
    void shouldRefuseASpaceWhosePagesAreLost() {
        with.membership.deregister("h", HOME, true);
        refused("pages-lost", "'vm'", () -> make("s", KEY, 1));
    }

    @Test
    void shouldRefuseANameThatIsTaken() {
        refused("name-taken", "'vm'", () -> make("vm", KEY, 1));
        make("s", KEY, 2);
        refused("name-taken", "'s'", () -> make("s", OTHER_KEY, 1));
    }

    @Test
    void shouldRefuseACloneThatHasNoExtents() {
        with.spaces.create(SpaceRequest.of("golden", 8 * PAGE));
        snapshots.make("golden");
        snapshots.makeClone("golden", new CloneRequest("c"), Optional.empty());
        List<String> older = Feature.words().stream()
                .filter(word -> !word.equals("clone-pages"))
                .toList();
        attach(
                "c",
                new AttachRequest(new Incarnation(WRITER), AttachMode.EXCLUSIVE, Optional.empty(), Optional.of(older)));
        refused("no-extents", "'c'", () -> make("c", WRITER, "s", KEY, 1));
        detach("c");
        attach("c", request(AttachMode.EXCLUSIVE));
        Space made = make("c", WRITER, "s", KEY, 2);
        assertEquals(OptionalLong.of(with.spaces.require("golden").id()), made.base());
        assertEquals(OptionalLong.of(made.id()), with.spaces.require("c").base());
    }

    @Test
    void shouldRefuseALayerTooManyWhenSnapshotsAreMadeAgain() {
        OptionalLong below = OptionalLong.empty();
        for (int layer = 1; layer <= Snapshots.MOST_LAYERS; layer++) {
            Space made = make("s" + layer, "%016x".formatted(layer), 1);
            assertEquals(below, made.base(), "each has the one before below");
            below = OptionalLong.of(made.id());
        }
        refused("chain-too-deep", "over 8 snapshots", () -> make("s", KEY, 1));
        assertEquals(below, with.spaces.require("vm").base());
        assertEquals(
                with.spaces.page("s1", 0).homes(), with.spaces.page("vm", 0).homes());
    }

    @Test
    void shouldAnswerTheSameSnapshotWhenTheStoreWasReadAgain() {
        Space made = make("s", KEY, 1);
        with.restart();
        Space again = new Snapshots(with.ledger, with.time)
                .makeOfGuest("vm", "w", new SnapshotRequest(new Incarnation(WRITER), "s", KEY, 2, Optional.empty()));
        assertEquals(made, again);
        assertEquals(2, with.spaces.all().size());
    }

    @Test
    void shouldRefuseAnEarlierIncarnationWhenALaterOneHasAdopted() {
        long next = WRITER + 1;
        Registration plain = Fixture.node(next, 4 * PAGE);
        with.membership.register(
                "w",
                new Registration(
                                plain.incarnation(),
                                plain.hostname(),
                                plain.address(),
                                plain.cpus(),
                                plain.memoryBytes(),
                                plain.devices(),
                                new PoolInfo(4 * PAGE, PAGE, Optional.of(new Incarnation(WRITER))),
                                plain.transports(),
                                plain.linkKey(),
                                plain.status(),
                                Optional.empty(),
                                Optional.empty())
                        .withAdopted(List.of(with.spaces.require("vm").id())));
        refused("stale-incarnation", "'w'", () -> make("s", KEY, 1));
        refused("not-attached", "'vm'", () -> make("vm", next, "s", OTHER_KEY, 1));
        with.fenced("h", HOME, "w", new Incarnation(WRITER));
        refused("stale-incarnation", "'w'", () -> make("s", KEY, 2));
        make("vm", next, "s", OTHER_KEY, 2);
    }

    @Test
    void shouldNotDeleteTheSnapshotWhileTheGuestsSpaceExists() {
        make("s", KEY, 1);
        refused("has-clones", "1 clones, whose guests read its pages: vm", () -> with.spaces.delete("s", true));
        detach("vm");
        with.spaces.delete("vm", false);
        with.spaces.delete("s", false);
        assertEquals(1, with.spaces.all().size(), "the node reads it");
        detach("s");
        assertEquals(List.of(), with.spaces.all());
        assertFalse(with.zeroable("h").isEmpty());
        with.checkIndexes();
    }
}
