package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.HostedPull;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Clones with pages of their own: a home is filled with the pages of the snapshot before pages are written to it. */
class ClonePagesTest {
    private static final int PAGE = 4096;
    private static final long EXTENT_PAGES = 512;
    private static final long EXTENT = EXTENT_PAGES * PAGE;
    private static final int EXTENTS = 4;
    private static final Incarnation WRITER = new Incarnation(9);
    private static final Incarnation HOME = new Incarnation(2);
    private static final List<String> OLDER =
            Feature.words().stream().filter(word -> !word.equals("clone-pages")).toList();

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Snapshots snapshots = new Snapshots(with.ledger, with.time);
    private final Grants grants = new Grants(with.ledger);
    private final Allocations allocations = new Allocations(with.ledger, grants);
    private final Hosting hosting = new Hosting(with.ledger, grants);
    private final Moves moves = new Moves(with.time);
    private final Repairs repairs = new Repairs(with.ledger, with.time, moves, Duration.ZERO);

    private void register(String node, long incarnation, long extents) {
        with.membership.register(node, Fixture.node(incarnation, extents * EXTENT));
    }

    /** A snapshot on node {@code g}, a clone that {@code w} has attached, and room on {@code h} for two extents. */
    private void attached() {
        register("g", 1, EXTENTS);
        with.spaces.create(SpaceRequest.of("golden", EXTENTS * EXTENT));
        snapshots.make("golden");
        register("h", HOME.value(), 2);
        register("w", WRITER.value(), 0);
        snapshots.makeClone("golden", new CloneRequest("c"), Optional.empty());
        attach("c", "w", WRITER, AttachMode.EXCLUSIVE, Feature.words());
    }

    private Attachment attach(
            String space, String node, Incarnation incarnation, AttachMode mode, List<String> features) {
        return attachments.attach(
                space, node, new AttachRequest(incarnation, mode, Optional.empty(), Optional.of(features)));
    }

    private Space theClone() {
        return with.spaces.require("c");
    }

    private List<Extent> extents() {
        return with.spaces.extents("c").extents();
    }

    private ExtentEpoch epoch(int index) {
        return ExtentEpoch.of(extents().get(index));
    }

    private void allocate(int... indices) {
        List<ExtentEpoch> named = Arrays.stream(indices).mapToObj(this::epoch).toList();
        allocations.allocate("c", "w", new WriterRequest(WRITER, named));
    }

    private boolean pulled(int index, Optional<String> failure) {
        return repairs.pulled("h", new PullReport(HOME, theClone().id(), epoch(index), failure));
    }

    /** The home that is filled has all pages. */
    private boolean filled(int index) {
        ExtentHome joins = extents().get(index).joining().orElseThrow();
        return repairs.pulled(
                joins.node(), new PullReport(joins.incarnation(), theClone().id(), epoch(index), Optional.empty()));
    }

    private List<String> homes(int index) {
        return extents().get(index).homes().stream().map(ExtentHome::node).toList();
    }

    private long freeBytes() {
        return with.freeBytes(with.membership.node("h").orElseThrow());
    }

    private static void refused(String word, String said, Executable what) {
        ProblemException refused = assertThrows(ProblemException.class, what);
        assertTrue(refused.problem("").is(word), refused::getMessage);
        assertTrue(refused.problem("").detail().contains(said), refused::getMessage);
    }

    private Attachment attachClone(String snapshot, String clone, Incarnation incarnation) {
        return attachments.attachClone(
                snapshot,
                new CloneRequest(clone),
                "w",
                new AttachRequest(incarnation, AttachMode.EXCLUSIVE, Optional.empty(), Optional.of(Feature.words())));
    }

    @Test
    void shouldMakeACloneAndAttachItInOneChange() {
        attached();
        Attachment made = attachClone("golden", "d", WRITER);
        Space clone = with.spaces.require("d");
        assertEquals(clone.id(), made.space());
        assertEquals(AttachMode.EXCLUSIVE, made.mode());
        assertEquals(theClone().base(), clone.base());
        assertEquals(extents().size(), with.spaces.extents("d").extents().size());
        refused("name-taken", "'d'", () -> attachClone("golden", "d", WRITER));
    }

    @Test
    void shouldMakeNoCloneThatTheNodeMayNotAttach() {
        attached();
        refused("no-snapshot", "'c'", () -> attachClone("c", "d", WRITER));
        refused("stale-incarnation", "'w'", () -> attachClone("golden", "d", new Incarnation(1)));
        with.spaces.allow("golden", new SpaceNodes(Optional.of(List.of("h"))), Optional.empty());
        refused("node-not-allowed", "'w'", () -> attachClone("golden", "d", WRITER));
        assertTrue(with.spaces.all().stream().noneMatch(space -> space.name().equals("d")));
    }

    @Test
    void shouldGiveACloneExtentsWithoutRoomWhenItIsAttached() {
        attached();
        assertEquals(2 * EXTENT, freeBytes());
        assertEquals(EXTENTS + 1, extents().size());
        assertTrue(extents().stream().noneMatch(Extent::isAllocated));
        assertTrue(theClone().features().contains(Feature.CLONE_PAGES));
        assertEquals(
                Optional.empty(), theClone().presence().flatMap(Presence::mark), "the homes have no presence map yet");
        assertEquals(0, Promises.bytes(with.ledger.state()), "a clone is promised nothing");
        with.checkIndexes();
        with.restart();
        assertEquals(EXTENTS + 1, extents().size());
    }

    @Test
    void shouldNotSayThatACloneIsZeros() {
        register("g", 1, EXTENTS);
        with.spaces.create(SpaceRequest.of("golden", EXTENTS * EXTENT / 2), true, Optional.empty());
        snapshots.make("golden");
        register("w", WRITER.value(), 0);
        snapshots.makeClone("golden", new CloneRequest("c"), Optional.empty());
        assertEquals(
                Optional.empty(),
                attach("c", "w", WRITER, AttachMode.EXCLUSIVE, Feature.words()).presence());
    }

    @Test
    void shouldFillAHomeBeforeItIsOne() {
        attached();
        allocate(1);
        Extent filling = extents().get(1);
        ExtentHome joins = filling.joining().orElseThrow();
        assertEquals("h", joins.node());
        assertEquals(Optional.of(PullState.RUNNING), filling.pull());
        assertTrue(!filling.isAllocated());
        assertEquals(EXTENT, freeBytes());
        assertEquals(
                List.of(new HostedPull(theClone().id(), epoch(1), "h", HOME, 0)),
                hosting.of("h").pulls());
        allocate(1);
        assertEquals(filling, extents().get(1), "it is filled already");
        assertTrue(pulled(1, Optional.empty()), "a home, although a node is attached: that one writes nothing there");
        assertEquals(List.of(joins), extents().get(1).homes());
        assertEquals(Optional.empty(), extents().get(1).joining());
        with.checkIndexes();
        assertEquals(
                with.spaces.page("golden", 0).homes(), with.spaces.page("c", 0).homes());
        assertEquals(joins, with.spaces.page("c", EXTENT).homes().getFirst());
    }

    @Test
    void shouldGiveTheRoomBackOfAHomeThatCannotBeFilled() {
        attached();
        allocate(0, 1);
        assertEquals(0, freeBytes());
        refused("no-room", "has 0", () -> allocate(2));
        assertTrue(!pulled(0, Optional.of("no page has come")));
        assertEquals(Optional.empty(), extents().get(0).joining());
        assertEquals(Optional.of(PullState.RUNNING), extents().get(1).pull());
        attachments.detach("c", "w", WRITER, Detachment.PLAIN);
        assertTrue(
                extents().stream().allMatch(extent -> extent.places().findAny().isEmpty()), "the fill ends, too");
        with.checkIndexes();
    }

    @Test
    void shouldAllocateWhatIsZerosInTheSnapshotAtOnce() {
        register("h", HOME.value(), 2);
        register("w", WRITER.value(), 0);
        with.spaces.create(SpaceRequest.of("golden", EXTENTS * EXTENT / 2).asThin());
        snapshots.make("golden");
        snapshots.makeClone("golden", new CloneRequest("c"), Optional.empty());
        attach("c", "w", WRITER, AttachMode.EXCLUSIVE, Feature.words());
        allocate(0, 2);
        assertTrue(extents().get(0).isAllocated() && extents().get(2).isAllocated(), "a map of pages needs no source");
    }

    @Test
    void shouldFillNothingWithoutASource() {
        attached();
        with.membership.deregister("g", new Incarnation(1), true);
        refused("no-room", "no home of its snapshot has the pages", () -> allocate(0));
        assertEquals(2 * EXTENT, freeBytes());
    }

    @Test
    void shouldKeepEachExtentWithinOneOfTheSnapshot() {
        with.membership.register("f", Fixture.node(7, 700 * PAGE));
        with.membership.register("g", Fixture.node(1, 300 * PAGE));
        with.spaces.create(SpaceRequest.of("golden", 900 * PAGE));
        snapshots.make("golden");
        register("w", WRITER.value(), 0);
        snapshots.makeClone("golden", new CloneRequest("c"), Optional.empty());
        attach("c", "w", WRITER, AttachMode.EXCLUSIVE, Feature.words());
        List<Extent> base = with.spaces.extents("golden").extents();
        assertTrue(base.stream().anyMatch(extent -> extent.firstPage() == 700), base::toString);
        for (Extent extent : extents()) {
            long last = extent.firstPage() + extent.count() - 1;
            assertTrue(
                    extent.firstPage() >= theClone().pages()
                            || base.stream().anyMatch(of -> of.contains(extent.firstPage()) && of.contains(last)),
                    extent + " of " + base);
        }
    }

    @Test
    void shouldLetAHomeReadASnapshotThatOthersMayNot() {
        attached();
        with.spaces.allow("golden", new SpaceNodes(Optional.of(List.of("w"))), Optional.empty());
        refused("node-not-allowed", "'h'", () -> attach("golden", "h", HOME, AttachMode.SHARED, Feature.words()));
        allocate(0);
        attach("golden", "h", HOME, AttachMode.SHARED, Feature.words());
        attachments.detach("golden", "h", HOME, Detachment.PLAIN);
        pulled(0, Optional.empty());
        refused("node-not-allowed", "'h'", () -> attach("golden", "h", HOME, AttachMode.SHARED, Feature.words()));
    }

    @Test
    void shouldLetAnEarlierAgentUseACloneThatHasNoPages() {
        attached();
        refused("not-understood", "clone-pages", () -> attach("c", "w", WRITER, AttachMode.EXCLUSIVE, OLDER));
        snapshots.makeClone("golden", new CloneRequest("d"), Optional.empty());
        attach("d", "w", WRITER, AttachMode.EXCLUSIVE, OLDER);
        assertEquals(List.of(), with.spaces.extents("d").extents());
        attachments.detach("d", "w", WRITER, Detachment.PLAIN);
        attach("d", "w", WRITER, AttachMode.EXCLUSIVE, Feature.words());
        assertEquals(EXTENTS + 1, with.spaces.extents("d").extents().size());
    }

    @Test
    void shouldFillAnExtentFromTheNextSnapshotThatHasIt() {
        attached();
        allocate(1);
        pulled(1, Optional.empty());
        attachments.detach("c", "w", WRITER, Detachment.PLAIN);
        snapshots.make("c");
        refused("has-clones", "1 clones", () -> with.spaces.delete("golden", false));
        snapshots.makeClone("c", new CloneRequest("d"), Optional.empty());
        attach("d", "w", WRITER, AttachMode.EXCLUSIVE, Feature.words());
        List<Extent> own = with.spaces.extents("d").extents();
        assertEquals(
                extents().stream().map(Extent::firstPage).toList(),
                own.stream().map(Extent::firstPage).toList());
        assertEquals("h", with.spaces.page("d", EXTENT).homes().getFirst().node());
        assertEquals("g", with.spaces.page("d", 0).homes().getFirst().node());
        with.membership.deregister("g", new Incarnation(1), true);
        WriterRequest second = new WriterRequest(WRITER, List.of(ExtentEpoch.of(own.get(1))));
        allocations.allocate("d", "w", second);
        assertTrue(with.spaces.extents("d").extents().get(1).joining().isPresent(), "the upper snapshot has it");
        WriterRequest first = new WriterRequest(WRITER, List.of(ExtentEpoch.of(own.get(0))));
        refused("no-room", "no home of its snapshot", () -> allocations.allocate("d", "w", first));
        attach("c", "h", HOME, AttachMode.SHARED, Feature.words());
        attach("golden", "h", HOME, AttachMode.SHARED, Feature.words());
    }

    @Test
    void shouldReadThroughASnapshotOfACloneThatWasNeverAttached() {
        attached();
        snapshots.makeClone("golden", new CloneRequest("between"), Optional.empty());
        snapshots.make("between");
        snapshots.makeClone("between", new CloneRequest("d"), Optional.empty());
        attach("d", "w", WRITER, AttachMode.EXCLUSIVE, Feature.words());
        attach("between", "w", WRITER, AttachMode.SHARED, Feature.words());
        assertEquals(List.of(), with.spaces.extents("between").extents(), "it is written no more");
        assertEquals(
                with.spaces.page("golden", EXTENT).homes(),
                with.spaces.page("d", EXTENT).homes());
    }

    @Test
    void shouldTearACloneThatHasPagesOfItsOwn() {
        attached();
        allocate(0);
        pulled(0, Optional.empty());
        register("w", WRITER.value() + 1, 0);
        assertTrue(theClone().torn().isPresent());
    }

    @Test
    void shouldNeverGiveTheRoomOfACloneBack() {
        attached();
        allocate(0);
        pulled(0, Optional.empty());
        WriterRequest request = new WriterRequest(WRITER, List.of(epoch(0)));
        refused("clone", "those of its snapshot again", () -> allocations.deallocate("c", "w", request));
    }

    /** A clone that {@code w} has attached, with two homes for each extent, and room on two nodes. */
    private void attachedMirrored() {
        register("g", 1, EXTENTS / 2);
        register("f", 7, EXTENTS / 2);
        with.spaces.create(SpaceRequest.of("golden", EXTENTS * EXTENT / 2).withReplicas(2));
        snapshots.make("golden");
        register("h", HOME.value(), EXTENTS);
        register("i", 8, EXTENTS);
        register("w", WRITER.value(), 0);
        snapshots.makeClone("golden", new CloneRequest("c"), Optional.empty());
        attach("c", "w", WRITER, AttachMode.EXCLUSIVE, Feature.words());
    }

    @Test
    void shouldFillAllHomesBeforeTheFirstIsOne() {
        attachedMirrored();
        allocate(0);
        assertTrue(!filled(0), "no home yet");
        Extent half = extents().get(0);
        assertTrue(!half.isAllocated() && half.joining().isEmpty(), half::toString);
        assertEquals(1, half.filledPools().size());
        assertEquals(0, repairs.step(), "nothing joins an extent without homes");
        allocate(0);
        assertTrue(filled(0));
        assertEquals(Set.of("h", "i"), Set.copyOf(homes(0)));
        assertEquals(List.of(), extents().get(0).filledPools());
        assertEquals(0, repairs.step(), "it has all homes");
        with.checkIndexes();
    }

    @Test
    void shouldMakeDoWithTheHomesThatAreFilledWithoutRoomForMore() {
        attachedMirrored();
        with.membership.deregister("i", new Incarnation(8), true);
        allocate(0);
        assertTrue(!filled(0), "there may be room for another home by now");
        allocate(0);
        assertEquals(List.of("h"), homes(0));
    }

    @Test
    void shouldLoseNoPageWhenTheOnlyFilledPoolIsGone() {
        attachedMirrored();
        allocate(0);
        String first = extents().get(0).joining().orElseThrow().node();
        filled(0);
        register(first, 99, EXTENTS);
        Extent left = extents().get(0);
        assertEquals(ExtentState.OK, left.state());
        assertTrue(!left.isAllocated() && left.filledPools().isEmpty(), left::toString);
        allocate(0);
        filled(0);
        allocate(0);
        filled(0);
        assertEquals(Set.of("h", "i"), Set.copyOf(homes(0)));
        with.checkIndexes();
    }

    @Test
    void shouldFillAnotherPoolInPlaceOfOneThatIsDrained() {
        attachedMirrored();
        allocate(0);
        String first = extents().get(0).joining().orElseThrow().node();
        filled(0);
        new Drains(with.ledger, new Copies(with.time)).begin(first);
        repairs.step();
        assertEquals(List.of(), extents().get(0).filledPools());
    }

    @Test
    void shouldNotMakeAFilledPoolAHomeWhenItIsDrained() {
        attachedMirrored();
        allocate(0);
        String first = extents().get(0).joining().orElseThrow().node();
        filled(0);
        new Drains(with.ledger, new Copies(with.time)).begin(first);
        allocate(0);
        String second = extents().get(0).joining().orElseThrow().node();
        filled(0);
        allocate(0);
        assertEquals(List.of(second), homes(0));
        assertTrue(!first.equals(second), first);
    }

    @Test
    void shouldGiveTheRoomOfFilledPoolsBackWhenTheGuestHasEnded() {
        attachedMirrored();
        allocate(0);
        filled(0);
        attachments.detach("c", "w", WRITER, Detachment.PLAIN);
        assertTrue(
                extents().stream().allMatch(extent -> extent.places().findAny().isEmpty()), "no room is taken");
        with.checkIndexes();
    }
}
