package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What becomes of a space, its homes and its writer when a snapshot is made while the guest runs. */
class GuestSnapshotsTest {
    private static final long EXTENT = 512L * 4096;
    private static final int EXTENTS = 4;
    private static final Incarnation WRITER = new Incarnation(9);
    private static final Incarnation HOME = new Incarnation(1);
    private static final String KEY = "0123456789abcdef";
    private static final Optional<String> MARK = Optional.of("0123456789abcdef0123456789abcdef");

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Snapshots snapshots = new Snapshots(with.ledger, with.time);
    private final Grants grants = new Grants(with.ledger);
    private final Allocations allocations = new Allocations(with.ledger, grants);
    private final Hosting hosting = new Hosting(with.ledger, grants);
    private final Repairs repairs = new Repairs(with.ledger, with.time, new Moves(with.time), Duration.ZERO);

    private void register(String node, long incarnation, long extents) {
        with.membership.register(node, Fixture.node(incarnation, extents * EXTENT));
    }

    private static SpaceRequest vm() {
        return SpaceRequest.of("vm", EXTENTS * EXTENT);
    }

    /** Home {@code h} with room for twice the space and more, and {@code w} with the guest. */
    private void attached(SpaceRequest request) {
        register("h", HOME.value(), 2 * EXTENTS + 2);
        attachedToHomes(request);
    }

    private void attachedToHomes(SpaceRequest request) {
        register("w", WRITER.value(), 0);
        with.spaces.create(request, true, Optional.empty());
        attach("vm");
    }

    private void attach(String space) {
        attachments.attach(
                space,
                "w",
                new AttachRequest(WRITER, AttachMode.EXCLUSIVE, Optional.empty(), Optional.of(Feature.words())));
    }

    private static SnapshotRequest request(String name, String key, int attempt) {
        return new SnapshotRequest(WRITER, name, key, attempt, MARK);
    }

    private Space make(SnapshotRequest request) {
        return snapshots.makeOfGuest("vm", "w", request);
    }

    private Space make() {
        return make(request("s", KEY, 1));
    }

    private List<Extent> extents(String space) {
        return with.spaces.extents(space).extents();
    }

    private void allocate(int... indices) {
        List<Extent> all = extents("vm");
        List<ExtentEpoch> named =
                Arrays.stream(indices).mapToObj(i -> ExtentEpoch.of(all.get(i))).toList();
        allocations.allocate("vm", "w", new WriterRequest(WRITER, named));
    }

    private long freeBytes(String node) {
        return with.freeBytes(with.membership.node(node).orElseThrow());
    }

    @Test
    void shouldGiveTheHomesToTheSnapshotWithTheirEpochs() {
        attached(vm());
        List<Extent> before = extents("vm");
        long free = freeBytes("h");
        Space made = make();
        assertEquals(before, extents("s"));
        assertEquals(MARK, made.presence().flatMap(Presence::mark));
        assertEquals(Optional.of(with.time.now()), made.snapshot());
        assertEquals(with.spaces.require("s"), made);
        assertEquals(OptionalLong.empty(), made.base());
        assertFalse(made.isThin());
        assertEquals(free, freeBytes("h"), "the pages stay where they are");
        with.checkIndexes();
        with.restart();
        assertEquals(before, extents("s"));
        assertEquals(made, with.spaces.require("s"));
    }

    @Test
    void shouldLeaveTheGuestAThinCloneInHigherEpochs() {
        attached(vm());
        List<Extent> before = extents("vm");
        Space made = make();
        List<Extent> after = extents("vm");
        assertEquals(
                before.stream().map(Extent::firstPage).toList(),
                after.stream().map(Extent::firstPage).toList());
        IntStream.range(0, before.size()).forEach(i -> {
            assertEquals(before.get(i).count(), after.get(i).count());
            assertTrue(after.get(i).epochNumber() > before.get(i).epochNumber(), after::toString);
            assertTrue(after.get(i).places().findAny().isEmpty(), after::toString);
        });
        Space space = with.spaces.require("vm");
        assertTrue(space.isThin());
        assertEquals(OptionalLong.of(made.id()), space.base());
        assertEquals(Optional.empty(), space.snapshot());
        assertEquals(Optional.empty(), space.presence().flatMap(Presence::mark), "its map is the snapshot's");
        assertEquals(
                with.spaces.page("s", EXTENT).homes(),
                with.spaces.page("vm", EXTENT).homes());
        with.restart();
        assertEquals(after, extents("vm"));
        assertEquals(space, with.spaces.require("vm"));
    }

    @Test
    void shouldAttachTheWriterToTheSnapshotInTheSameChange() {
        attached(vm());
        List<Attachment> before = attachments.of("vm");
        int commits = with.store.begun();
        Space made = make();
        assertEquals(commits + 1, with.store.begun());
        assertEquals(before, attachments.of("vm"));
        Attachment read = attachments.of("s").getFirst();
        assertEquals("w", read.node());
        assertEquals(WRITER, read.incarnation());
        assertEquals(AttachMode.SHARED, read.mode());
        assertTrue(attachments.concerns(made, "w"));
        assertTrue(read.id() != before.getFirst().id(), "the homes give other keys, to read only");
        assertEquals(
                List.of(made.id()),
                hosting.of("h").attachments().stream()
                        .map(HostedAttachment::space)
                        .toList(),
                "the keys of the guest's space are revoked");
    }

    @Test
    void shouldEndWhatJoinsAndGiveBackWhatWasDropped() {
        register("h", HOME.value(), EXTENTS + 1);
        register("i", 2, EXTENTS + 1);
        attachedToHomes(vm().withReplicas(2));
        List<ExtentEpoch> all = extents("vm").stream().map(ExtentEpoch::of).toList();
        new Drops(with.ledger).drop("vm", "w", new DropRequest(WRITER, "i", new Incarnation(2), all));
        register("j", 3, EXTENTS + 1);
        repairs.step();
        assertEquals("j", extents("vm").getFirst().joining().orElseThrow().node());
        assertEquals("i", extents("vm").getFirst().droppedHomes().getFirst().node());
        assertEquals(List.of(), with.zeroable("i"));
        long joins = extents("vm").stream()
                .filter(each -> each.joining().isPresent())
                .count();
        int commits = with.store.begun();
        make();
        assertEquals(commits + 1, with.store.begun());
        assertEquals(all.size(), with.zeroable("i").size());
        assertEquals(joins, with.zeroable("j").size());
        assertEquals(List.of(), with.zeroable("h"));
        assertTrue(
                extents("vm").stream().noneMatch(each -> each.places().findAny().isPresent()));
        for (Extent extent : extents("s")) {
            assertEquals(List.of("h"), extent.places().map(ExtentHome::node).toList());
        }
        with.checkIndexes();
        with.zeroed(
                "j",
                new Incarnation(3),
                with.zeroable("j").stream().map(Release::id).toList());
        assertEquals((EXTENTS + 1) * EXTENT, freeBytes("j"));
    }

    @Test
    void shouldFillAnExtentFromTheSnapshotWhenItIsAllocated() {
        attached(vm());
        Space made = make();
        long free = freeBytes("h");
        allocate(1);
        Extent filling = extents("vm").get(1);
        assertEquals(Optional.of(PullState.RUNNING), filling.pull());
        assertFalse(filling.isAllocated());
        assertEquals(free - filling.count() * 4096, freeBytes("h"));
        ExtentEpoch epoch = ExtentEpoch.of(filling);
        repairs.pulled("h", new PullReport(HOME, with.spaces.require("vm").id(), epoch, Optional.empty()));
        assertEquals(
                List.of(filling.joining().orElseThrow()), extents("vm").get(1).homes());
        assertEquals(made, with.spaces.require("s"));
        assertFalse(extents("vm").get(1).homes().equals(extents("s").get(1).homes()));
        with.checkIndexes();
    }

    @Test
    void shouldKeepRoomlessExtentsWhenTheSpaceIsThin() {
        attached(vm().asThin());
        allocate(1);
        List<Extent> before = extents("vm");
        assertTrue(Promises.bytes(with.ledger.state()) > 0);
        make();
        assertEquals(before, extents("s"));
        assertTrue(with.spaces.require("s").isThin());
        assertEquals(0, Promises.bytes(with.ledger.state()), "neither a snapshot nor a clone is promised room");
        List<Extent> after = extents("vm");
        assertEquals(before.get(0), after.get(0), "it had no homes before either");
        assertTrue(after.get(1).epochNumber() > before.get(1).epochNumber());
        allocate(0, 1);
        assertTrue(extents("vm").get(0).isAllocated(), "it is zeros in the snapshot");
        assertTrue(extents("vm").get(1).joining().isPresent(), "it has pages in the snapshot");
        with.checkIndexes();
    }

    @Test
    void shouldAnswerTheSameSnapshotWhenARequestIsRepeated() {
        attached(vm());
        Space made = make(request("s", KEY, 1));
        List<Extent> extents = extents("vm");
        List<Attachment> attached = attachments.of("s");
        assertEquals(made, make(request("s", KEY, 1)));
        assertEquals(made, make(request("s", KEY, 2)));
        assertEquals(extents, extents("vm"));
        assertEquals(attached, attachments.of("s"));
        assertEquals(2, with.spaces.all().size());
        refused("key-reused", request("other", KEY, 3));
    }

    @Test
    void shouldRefuseAnAttemptThatArrivesAfterALaterOne() {
        attached(vm());
        with.spaces.create(SpaceRequest.of("s", EXTENT));
        refused("name-taken", request("s", KEY, 2));
        with.spaces.delete("s", false);
        refused("late-attempt", request("s", KEY, 1));
        assertEquals(1, with.spaces.all().size());
        make(request("s", KEY, 3));
    }

    private void refused(String word, SnapshotRequest request) {
        ProblemException refused = assertThrows(ProblemException.class, () -> make(request));
        assertTrue(refused.problem("").is(word), refused::getMessage);
    }
}
