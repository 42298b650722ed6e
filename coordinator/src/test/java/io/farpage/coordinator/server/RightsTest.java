package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Access;
import io.farpage.access.Identity;
import io.farpage.access.Role;
import io.farpage.access.Terms;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.model.operation.RebuildOperations;
import io.farpage.coordinator.model.operation.SpaceOperations;
import io.farpage.rest.Operation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the coordinator serves, and which kinds of identity may use it. */
class RightsTest {

    private static final Terms OPEN = new Terms(Optional.empty(), Set.of("access.nodes_create_spaces"));
    private static final Identity NODE_A = new Identity.Node("a");
    private static final Identity STRANGER = new Identity.Stranger("it has shown nothing");

    /** What a coordinator serves, by method and path. */
    private static final Map<String, Operation<?, ?>> OPERATIONS = new TreeMap<>();

    @BeforeAll
    static void ask(@TempDir Path directory) {
        try (Running running = new Running(directory)) {
            running.coordinator.server().operations().forEach(one -> OPERATIONS.put(one.name(), one));
        }
    }

    private static Access access(String route) {
        return Objects.requireNonNull(OPERATIONS.get(route), route).access().under(OPEN);
    }

    /** A request about node a, its peer b and the attachment of a. */
    private static String aboutA(String parameter) {
        return parameter.equals("peer") ? "b" : "a";
    }

    /** A request about home a and attached node b. */
    private static String fromAToB(String parameter) {
        return parameter.equals("node") ? "b" : "a";
    }

    private static Identity role(Role role) {
        return new Identity.Principal("ann", role, "token");
    }

    private static boolean allows(String route, Identity identity) {
        return access(route).allows(identity, RightsTest::aboutA);
    }

    /** The operations that are declared for the coordinator; not those of the rebuild, which another server has. */
    @Test
    void shouldBindEachOperationExactlyOnce(@TempDir Path directory) throws Exception {
        List<String> expected = new ArrayList<>(List.of(
                "GET /", "GET /health", "GET /live", "GET /metrics", "GET /openapi.json", "GET /log", "PUT /log"));
        DeclaredOperations.all().forEach(one -> expected.add(one.name()));
        expected.removeIf(name -> name.contains(RebuildOperations.PATH));
        assertTrue(expected.size() > 50, expected.toString());
        try (Running running = new Running(directory)) {
            List<String> registered = running.coordinator.server().registered();
            List<String> bound = running.coordinator.server().operations().stream()
                    .map(Operation::name)
                    .sorted()
                    .toList();
            assertEquals(registered, bound, "what is served has the right of its operation");
            assertEquals(
                    expected.stream().sorted().toList(),
                    bound.stream()
                            .filter(name -> !name.startsWith("GET /dashboard/"))
                            .toList());
        }
    }

    @Test
    void shouldNameEachOperationOnTheReferencePage() throws Exception {
        String page = Files.readString(Path.of(System.getProperty("farpage.root"), "docs/rest-api.md"));
        for (Operation<?, ?> operation : DeclaredOperations.all()) {
            String path = operation.path().substring(Operation.API.length());
            assertTrue(
                    Pattern.compile(Pattern.quote(path) + "[`? ]").matcher(page).find(), operation.name());
        }
    }

    @Test
    void shouldLeaveNothingToStrangersButHealthThePageAndTheJoinToken() {
        Set<String> open = new TreeSet<>();
        for (String route : OPERATIONS.keySet()) {
            if (allows(route, STRANGER) && !route.startsWith("GET /dashboard/")) {
                open.add(route);
            }
        }
        assertEquals(Set.of("GET /", "GET /health", "GET /live", "POST /api/v1/join"), open);
    }

    @Test
    void shouldLetANodeAskForItsOwnDrainAndForNoOther() {
        String drain = "POST /api/v1/nodes/{id}/drain";
        assertTrue(allows(drain, NODE_A));
        assertTrue(allows(drain, role(Role.OPERATOR)));
        assertFalse(allows(drain, new Identity.Node("b")));
        assertFalse(allows("DELETE /api/v1/nodes/{id}/drain", NODE_A));
    }

    @Test
    void shouldLetOnlyTheNodeItselfSpeakForIt() {
        Set<String> own = Set.of(
                "PUT /api/v1/nodes/{id}",
                "POST /api/v1/nodes/{id}/heartbeat",
                "POST /api/v1/nodes/{id}/certificate",
                "PUT /api/v1/nodes/{id}/endpoints/{peer}",
                "DELETE /api/v1/nodes/{id}/endpoints/{peer}",
                "PUT /api/v1/nodes/{id}/grants/{space}/{node}",
                "POST /api/v1/nodes/{id}/hosted/ack",
                "PUT /api/v1/spaces/{id}/attachments/{node}",
                "DELETE /api/v1/spaces/{id}/attachments/{node}");
        for (String route : own) {
            assertTrue(allows(route, NODE_A), route);
            assertFalse(allows(route, new Identity.Node("b")), route);
            assertFalse(allows(route, new Identity.Node("A")), route);
            assertFalse(allows(route, role(Role.ADMIN)), route);
            assertFalse(allows(route, new Identity.Coordinator()), route);
        }
    }

    @Test
    void shouldShowAGrantToTheAttachedNodeAlone() {
        String attached = "GET /api/v1/nodes/{id}/attached";
        assertTrue(allows(attached, NODE_A));
        for (Identity other :
                List.of(new Identity.Node("b"), role(Role.ADMIN), role(Role.OPERATOR), new Identity.Coordinator())) {
            assertFalse(allows(attached, other), other.toString());
        }
        assertFalse(OPERATIONS.containsKey("GET /api/v1/nodes/{id}/grants/{space}/{node}"));
        Access change = access("PUT /api/v1/nodes/{id}/grants/{space}/{node}");
        assertTrue(change.allows(NODE_A, RightsTest::fromAToB));
        assertFalse(change.allows(new Identity.Node("b"), RightsTest::fromAToB), "the attached node only reads");
    }

    @Test
    void shouldShowAnEndpointToItsTwoNodesAndAdminsOnly() {
        String route = "GET /api/v1/nodes/{id}/endpoints/{peer}";
        assertTrue(allows(route, NODE_A));
        assertTrue(allows(route, new Identity.Node("b")));
        assertFalse(allows(route, new Identity.Node("c")));
        assertTrue(allows(route, role(Role.ADMIN)));
        assertFalse(allows(route, role(Role.OPERATOR)));
    }

    @Test
    void shouldGiveEachRoleWhatTheNextOneHasAndNoKeysToViewers() {
        for (String route : OPERATIONS.keySet()) {
            boolean metrics = allows(route, role(Role.METRICS));
            boolean viewer = allows(route, role(Role.VIEWER));
            boolean operator = allows(route, role(Role.OPERATOR));
            boolean admin = allows(route, role(Role.ADMIN));
            assertTrue((!metrics || viewer) && (!viewer || operator) && (!operator || admin), route);
            boolean reads = route.startsWith("GET ");
            assertTrue(reads || route.contains("/join") || !viewer, route);
            assertFalse(viewer && route.contains("/endpoints"), route);
        }
        assertFalse(allows("GET /api/v1/nodes", role(Role.METRICS)));
        assertTrue(allows("GET /metrics", role(Role.METRICS)));
        assertTrue(allows("DELETE /api/v1/spaces/{id}", role(Role.OPERATOR)));
        assertFalse(allows("POST /api/v1/cluster", role(Role.OPERATOR)));
        assertTrue(allows("POST /api/v1/cluster", role(Role.ADMIN)));
    }

    @Test
    void shouldLetNodesCreateSpacesOnlyIfTheSettingSaysSo(@TempDir Path directory) {
        Access open = access("POST /api/v1/spaces");
        Access closed = SpaceOperations.CREATE.access().under(Terms.NONE);
        assertTrue(open.allows(NODE_A, RightsTest::aboutA));
        assertFalse(closed.allows(NODE_A, RightsTest::aboutA));
        assertTrue(closed.allows(role(Role.OPERATOR), RightsTest::aboutA));
        assertEquals("role operator (access.nodes_create_spaces is false)", closed.needed(RightsTest::aboutA));
        Map<String, String> setting = Map.of("access.nodes_create_spaces", "false");
        try (Running running = new Running(directory, new FakeTime(), setting)) {
            assertEquals(
                    List.copyOf(OPERATIONS.keySet()),
                    running.coordinator.server().registered());
        }
    }

    @Test
    void shouldLetOperatorsAndNoNodeSayWhichNodesMayAttachASpace() {
        String route = "PUT /api/v1/spaces/{id}/nodes";
        assertFalse(allows(route, NODE_A));
        assertFalse(allows(route, role(Role.VIEWER)));
        assertTrue(allows(route, role(Role.OPERATOR)));
    }

    @Test
    void shouldHaveNoRightForARouteThatIsNotDeclared() {
        assertFalse(OPERATIONS.containsKey("GET /api/v1/forgotten"));
    }
}
