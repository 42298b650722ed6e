package io.farpage.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Access;
import io.farpage.access.AccessTable;
import io.farpage.access.Identity;
import io.farpage.access.Role;
import io.farpage.coordinator.api.Rights;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The table of rights against the routes that are registered, and what it says of each kind of identity. */
class RightsTest {

    private static final AccessTable TABLE = Rights.table(true);
    private static final Identity NODE_A = new Identity.Node("a");
    private static final Identity STRANGER = new Identity.Stranger("it has shown nothing");

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
        String[] parts = route.split(" ");
        return TABLE.of(parts[0], parts[1]).orElseThrow().allows(identity, RightsTest::aboutA);
    }

    @Test
    void shouldHaveAnEntryForEveryRouteAndNoOther(@TempDir Path directory) {
        try (Running running = new Running(directory)) {
            assertEquals(
                    new TreeSet<>(running.coordinator.server().registered()),
                    new TreeSet<>(TABLE.routes()),
                    "every route has an entry in Rights, and every entry a route");
        }
    }

    @Test
    void shouldLeaveNothingToStrangersButHealthThePageAndTheJoinToken() {
        Set<String> open = new TreeSet<>();
        for (String route : TABLE.routes()) {
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
                "PUT /api/v1/nodes/{id}/regions/{name}",
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
        assertTrue(TABLE.of("GET", "/api/v1/nodes/{id}/grants/{space}/{node}").isEmpty());
        Access change =
                TABLE.of("PUT", "/api/v1/nodes/{id}/grants/{space}/{node}").orElseThrow();
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
        for (String route : TABLE.routes()) {
            boolean metrics = allows(route, role(Role.METRICS));
            boolean viewer = allows(route, role(Role.VIEWER));
            boolean operator = allows(route, role(Role.OPERATOR));
            boolean admin = allows(route, role(Role.ADMIN));
            assertTrue((!metrics || viewer) && (!viewer || operator) && (!operator || admin), route);
            boolean reads = route.startsWith("GET ");
            assertTrue(reads || route.contains("/join") || !viewer, route);
            assertFalse(viewer && (route.contains("/regions") || route.contains("/endpoints")), route);
        }
        assertFalse(allows("GET /api/v1/nodes", role(Role.METRICS)));
        assertTrue(allows("GET /metrics", role(Role.METRICS)));
        assertTrue(allows("DELETE /api/v1/spaces/{id}", role(Role.OPERATOR)));
        assertFalse(allows("POST /api/v1/cluster", role(Role.OPERATOR)));
        assertTrue(allows("POST /api/v1/cluster", role(Role.ADMIN)));
    }

    @Test
    void shouldLetNodesCreateSpacesOnlyIfTheSettingSaysSo() {
        Access open = TABLE.of("POST", "/api/v1/spaces").orElseThrow();
        Access closed = Rights.table(false).of("POST", "/api/v1/spaces").orElseThrow();
        assertTrue(open.allows(NODE_A, RightsTest::aboutA));
        assertFalse(closed.allows(NODE_A, RightsTest::aboutA));
        assertTrue(closed.allows(role(Role.OPERATOR), RightsTest::aboutA));
        assertEquals("role operator (access.nodes_create_spaces is false)", closed.needed(RightsTest::aboutA));
        assertEquals(TABLE.routes(), Rights.table(false).routes());
    }

    @Test
    void shouldLetOperatorsAndNoNodeSayWhichNodesMayAttachASpace() {
        String route = "PUT /api/v1/spaces/{id}/nodes";
        assertFalse(allows(route, NODE_A));
        assertFalse(allows(route, role(Role.VIEWER)));
        assertTrue(allows(route, role(Role.OPERATOR)));
    }

    @Test
    void shouldRefuseARouteWithoutAnEntry() {
        assertTrue(TABLE.of("GET", "/api/v1/forgotten").isEmpty());
        assertFalse(Access.role(Role.ADMIN).isPublic());
    }
}
