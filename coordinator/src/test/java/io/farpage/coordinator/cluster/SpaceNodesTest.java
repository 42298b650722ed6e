package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Feature;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which nodes may attach a space: by its list, and by what their agents understand. */
class SpaceNodesTest {

    private static final String KEY = "0123456789abcdef";

    private final Fixture with = new Fixture();
    private Attachments attachments = new Attachments(with.ledger, with.time);

    @BeforeEach
    void registerNodes() {
        with.membership.register("home", Fixture.node(1, 1 << 20));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
    }

    private Space make(String name, Optional<String> keyId, Optional<List<String>> nodes) {
        return with.spaces.create(new SpaceRequest(
                name, 4096, OptionalInt.empty(), Optional.of(List.of("home")), keyId, nodes, OptionalInt.empty()));
    }

    private static SpaceNodes only(String... nodes) {
        return new SpaceNodes(Optional.of(List.of(nodes)));
    }

    private Attachment attach(String node, long incarnation, AttachMode mode) {
        return attachments.attach("vm", node, new AttachRequest(new Incarnation(incarnation), mode));
    }

    private ProblemException refused(String node, long incarnation, AttachMode mode) {
        ProblemException refused = assertThrows(ProblemException.class, () -> attach(node, incarnation, mode));
        assertEquals(403, refused.status(), refused::getMessage);
        assertTrue(refused.problem("").is("node-not-allowed"), refused::getMessage);
        return refused;
    }

    @Test
    void shouldRefuseANodeThatIsNotOnTheListAndNameTheFix() {
        long id =
                make("vm", Optional.empty(), Optional.of(List.of("a", "home"))).id();
        assertEquals(
                ("node 'b' may not attach space 'vm' (id %d): its list of nodes is a,home; an operator changes it:"
                                + " coordinator space allow vm --nodes a,home,b")
                        .formatted(id),
                refused("b", 3, AttachMode.SHARED).getMessage());
        refused("b", 3, AttachMode.EXCLUSIVE);
        attach("a", 2, AttachMode.SHARED);
        attach("home", 1, AttachMode.SHARED);
    }

    @Test
    void shouldLetAllNodesAttachASpaceWithoutAList() {
        make("vm", Optional.empty(), Optional.empty());
        attach("a", 2, AttachMode.SHARED);
        attach("b", 3, AttachMode.SHARED);
    }

    @Test
    void shouldNotTellANodeOffTheListWhichNodesAreAttached() {
        make("vm", Optional.empty(), Optional.of(List.of("a")));
        attach("a", 2, AttachMode.EXCLUSIVE);
        assertFalse(refused("b", 3, AttachMode.EXCLUSIVE).problem("").detail().contains("attached"));
    }

    @Test
    void shouldKeepAnAttachedNodeThatIsTakenOffTheListUntilItDetaches() {
        make("vm", Optional.empty(), Optional.empty());
        attach("a", 2, AttachMode.SHARED);
        with.spaces.allow("vm", only("b"), Optional.empty());
        attach("a", 2, AttachMode.SHARED);
        refused("a", 2, AttachMode.EXCLUSIVE);
        attachments.detach("vm", "a", new Incarnation(2), Detachment.PLAIN);
        refused("a", 2, AttachMode.SHARED);
        with.spaces.allow("vm", new SpaceNodes(Optional.empty()), Optional.empty());
        attach("a", 2, AttachMode.SHARED);
    }

    @Test
    void shouldRefuseTheNextIncarnationOfANodeThatIsTakenOffTheList() {
        make("vm", Optional.empty(), Optional.empty());
        attach("a", 2, AttachMode.SHARED);
        with.spaces.allow("vm", only("b"), Optional.empty());
        with.membership.register("a", Fixture.node(4, 0));
        refused("a", 4, AttachMode.SHARED);
    }

    @Test
    void shouldKeepTheListOverARestart() {
        make("vm", Optional.empty(), Optional.of(List.of("a")));
        with.spaces.allow("vm", only("b", "home", "b"), Optional.empty());
        with.restart();
        attachments = new Attachments(with.ledger, with.time);
        assertEquals(
                Optional.of(List.of("b", "home")), with.spaces.require("vm").nodes());
        refused("a", 2, AttachMode.SHARED);
    }

    @Test
    void shouldTellOfAListOnlyWhenItChanges() throws InterruptedException {
        long id = make("vm", Optional.empty(), Optional.empty()).id();
        with.spaces.allow("vm", only("a"), Optional.empty());
        long index = with.ledger.events().index();
        with.spaces.allow("vm", only("a"), Optional.empty());
        assertEquals(index, with.ledger.events().index());
        Event told = with.ledger
                .events()
                .after(0, Duration.ZERO, EventFilter.ALL)
                .events()
                .getLast();
        assertEquals(EventKind.SPACE_ALLOWED, told.kind());
        assertEquals(id, told.spaceId().orElseThrow());
    }

    @Test
    void shouldBoundTheListsOfAllSpaces() {
        List<String> most = IntStream.range(0, 1024).mapToObj(i -> "n" + i).toList();
        int full = Bounds.ALLOWED / most.size();
        for (int i = 0; i < full; i++) {
            make("vm" + i, Optional.empty(), Optional.of(most));
        }
        ProblemException made =
                assertThrows(ProblemException.class, () -> make("more", Optional.empty(), Optional.of(List.of("a"))));
        assertTrue(made.problem("").is("limit"), made::getMessage);
        make("more", Optional.empty(), Optional.empty());
        ProblemException allowed =
                assertThrows(ProblemException.class, () -> with.spaces.allow("more", only("a"), Optional.empty()));
        assertTrue(allowed.problem("").is("limit"), allowed::getMessage);
        with.spaces.allow("vm0", only("a"), Optional.empty());
        with.spaces.allow("more", only("a"), Optional.empty());
    }

    @Test
    void shouldRefuseAnAgentThatDoesNotUnderstandAFeatureOfTheSpace() {
        make("vm", Optional.of(KEY), Optional.empty());
        for (Optional<List<String>> features : List.of(
                Optional.<List<String>>empty(), Optional.of(List.<String>of()), Optional.of(List.of("other")))) {
            for (AttachMode mode : AttachMode.values()) {
                AttachRequest request = new AttachRequest(new Incarnation(2), mode, Optional.empty(), features);
                ProblemException refused =
                        assertThrows(ProblemException.class, () -> attachments.attach("vm", "a", request));
                assertTrue(refused.problem("").is("not-understood"), refused::getMessage);
                assertTrue(
                        refused.problem("")
                                .detail()
                                .contains("the agent of node 'a' does not understand: encryption; update"),
                        refused::getMessage);
            }
        }
        assertEquals(List.of(), attachments.of("vm"));
        attach("a", 2, AttachMode.EXCLUSIVE);
    }

    @Test
    void shouldAttachAPlainSpaceForAnAgentOlderThanAllFeatures() {
        make("vm", Optional.empty(), Optional.empty());
        AttachRequest request =
                new AttachRequest(new Incarnation(2), AttachMode.EXCLUSIVE, Optional.empty(), Optional.empty());
        attachments.attach("vm", "a", request);
    }

    @Test
    void shouldNeedEveryFeatureOfASpaceOnItsOwn() {
        assertEquals(
                List.of("encryption", "replicas", "presence", "clones", "thin", "clone-pages", "coherent"),
                Feature.words());
        AttachRequest none =
                new AttachRequest(new Incarnation(2), AttachMode.SHARED, Optional.empty(), Optional.empty());
        for (Feature feature : Feature.values()) {
            assertFalse(none.understands(feature), feature::word);
            assertTrue(new AttachRequest(
                            new Incarnation(2),
                            AttachMode.SHARED,
                            Optional.empty(),
                            Optional.of(List.of(feature.word())))
                    .understands(feature));
        }
    }

    @Test
    void shouldSayWhichNodesASpaceConcerns() {
        Space space = make("vm", Optional.empty(), Optional.empty());
        assertTrue(attachments.concerns(space, "home"));
        assertFalse(attachments.concerns(space, "a"));
        attach("a", 2, AttachMode.SHARED);
        assertTrue(attachments.concerns(space, "a"));
        assertFalse(attachments.concerns(space, "b"));
    }
}
