package io.farpage.coordinator.api;

import io.farpage.access.Access;
import io.farpage.access.AccessTable;
import io.farpage.access.Role;
import io.farpage.rest.RestServer;

/**
 * Who may use which route of the coordinator: the whole of it, on one page. A route that is missing is refused to all,
 * and a test finds it.
 */
public final class Rights {

    private static final String NODE = Api.PREFIX + "/nodes/{id}";
    private static final String SPACE = Api.PREFIX + "/spaces/{id}";
    private static final String REBUILD = Api.PREFIX + "/rebuild";

    private static final Access ANYONE = Access.anyone();
    private static final Access ADMIN = Access.role(Role.ADMIN);
    private static final Access OPERATOR = Access.role(Role.OPERATOR);
    private static final Access METRICS = Access.role(Role.METRICS);

    /** What names no key and no rkey. */
    private static final Access READ = Access.role(Role.VIEWER).or(Access.anyNode());

    /** What has the rkey of a pool's header page. */
    private static final Access READ_KEYS = ADMIN.or(Access.anyNode());

    /** What a node says of itself. */
    private static final Access SELF = Access.nodeInPath("id");

    /** What concerns one node. */
    private static final Access READ_SELF = Access.role(Role.VIEWER).or(SELF);

    private Rights() {}

    /**
     * The table of a coordinator that serves.
     *
     * @param nodesCreateSpaces whether a node's certificate is enough to create a space
     */
    public static AccessTable table(boolean nodesCreateSpaces) {
        AccessTable.Builder table = common();
        // A page without data; what it shows it asks for.
        Dashboard.routes().forEach(route -> table.add(route.method().name(), route.path(), ANYONE));
        table.add("GET", Api.PREFIX + "/cluster", READ)
                .add("POST", Api.PREFIX + "/cluster", ADMIN)
                .add("DELETE", Api.PREFIX + "/cluster", ADMIN)
                .add("GET", Api.PREFIX + "/backup", OPERATOR)
                .add("GET", Api.PREFIX + "/events", READ)
                .add("GET", Api.PREFIX + "/overview", Access.role(Role.VIEWER))
                .add("GET", Api.PREFIX + "/overview/spaces", Access.role(Role.VIEWER))
                .add("GET", Api.PREFIX + "/figures/nodes", Access.role(Role.VIEWER))
                .add("GET", Api.PREFIX + "/figures/guests", Access.role(Role.VIEWER))
                .add("GET", Api.PREFIX + "/figures/guests/{id}", Access.role(Role.VIEWER))
                // The join token in the body is what authorises it.
                .add("POST", Api.PREFIX + "/join", ANYONE);
        nodes(table);
        spaces(table, nodesCreateSpaces);
        return table.build();
    }

    private static void nodes(AccessTable.Builder table) {
        table.add("GET", Api.PREFIX + "/nodes", READ)
                .add("GET", NODE, READ)
                .add("PUT", NODE, SELF)
                .add("DELETE", NODE, SELF.or(ADMIN))
                .add("POST", NODE + "/heartbeat", SELF)
                .add("POST", NODE + "/figures", SELF)
                .add("POST", NODE + "/copies", SELF)
                .add("POST", NODE + "/certificate", SELF)
                .add("GET", NODE + "/endpoints", SELF.or(ADMIN))
                .add("GET", NODE + "/offers", SELF.or(ADMIN))
                .add(
                        "GET",
                        NODE + "/endpoints/{peer}",
                        SELF.or(Access.nodeInPath("peer")).or(ADMIN))
                .add("PUT", NODE + "/endpoints/{peer}", SELF)
                .add("DELETE", NODE + "/endpoints/{peer}", SELF)
                .add("GET", NODE + "/regions", READ_KEYS)
                .add("GET", NODE + "/regions/{name}", READ_KEYS)
                .add("PUT", NODE + "/regions/{name}", SELF)
                .add("PUT", NODE + "/grants/{space}/{node}", SELF)
                .add("PUT", NODE + "/grants/{space}/{node}/pulls/{page}/{epoch}", SELF)
                .add("POST", NODE + "/pulls", SELF)
                .add("GET", NODE + "/hosted", READ_SELF)
                .add("POST", NODE + "/hosted/ack", SELF)
                // The document has keys that are sealed for the node. The coordinator gives them to no other node.
                .add("GET", NODE + "/attached", SELF)
                .add("GET", NODE + "/drain", READ)
                .add("POST", NODE + "/drain", SELF.or(OPERATOR))
                .add("DELETE", NODE + "/drain", OPERATOR);
    }

    private static void spaces(AccessTable.Builder table, boolean nodesCreateSpaces) {
        Access create = nodesCreateSpaces
                ? OPERATOR.or(Access.anyNode())
                : OPERATOR.noting("access.nodes_create_spaces is false");
        table.add("GET", Api.PREFIX + "/spaces", READ)
                .add("POST", Api.PREFIX + "/spaces", create)
                .add("GET", SPACE, READ)
                .add("DELETE", SPACE, OPERATOR)
                .add("GET", SPACE + "/nodes", READ)
                .add("PUT", SPACE + "/nodes", OPERATOR)
                .add("GET", SPACE + "/attachments", READ)
                .add("PUT", SPACE + "/attachments/{node}", Access.nodeInPath("node"))
                .add("DELETE", SPACE + "/attachments/{node}", Access.nodeInPath("node"))
                .add("POST", SPACE + "/attachments/{node}/drops", Access.nodeInPath("node"))
                .add("POST", SPACE + "/attachments/{node}/drops/ack", Access.nodeInPath("node"))
                .add("POST", SPACE + "/attachments/{node}/promotions", Access.nodeInPath("node"))
                .add("POST", SPACE + "/attachments/{node}/pulls", Access.nodeInPath("node"))
                .add("GET", SPACE + "/extents", READ)
                .add("GET", SPACE + "/repair", READ)
                .add("GET", SPACE + "/pages/{gpa}", READ)
                // The route refuses nodes that the space does not concern.
                .add("POST", SPACE + "/heat", Access.anyNode());
    }

    /** The table of a coordinator that is being rebuilt. */
    public static AccessTable rebuildTable() {
        return common().add("GET", REBUILD, READ)
                .add("PUT", REBUILD + "/nodes/{id}", SELF)
                .add("POST", REBUILD + "/finish", ADMIN)
                .build();
    }

    private static AccessTable.Builder common() {
        return AccessTable.builder()
                .add("GET", "/health", ANYONE) // details only for an identity
                .add("GET", "/live", ANYONE)
                .add("GET", "/metrics", METRICS.or(Access.anyNode()))
                .add("GET", "/openapi.json", METRICS.or(Access.anyNode()))
                .add("GET", RestServer.LOG_PATH, Access.role(Role.VIEWER))
                .add("PUT", RestServer.LOG_PATH, OPERATOR);
    }
}
