package io.farpage.agent.rest;

import io.farpage.access.Access;
import io.farpage.access.AccessTable;
import io.farpage.access.Role;
import io.farpage.rest.RestServer;

/**
 * Who may use which route of the agent: the whole of it, on one page. A route that is missing is refused to all, and a
 * test finds it.
 */
public final class Rights {

    private static final String API = "/api/v1";
    private static final String SPACE = API + "/spaces/{space}";

    private Rights() {}

    /**
     * The table.
     *
     * @param node id of this agent: programs on its host show its certificate, and may do everything
     */
    public static AccessTable table(String node) {
        Access self = Access.node(node);
        Access metrics = Access.role(Role.METRICS).or(self);
        Access viewer = Access.role(Role.VIEWER).or(self);
        Access operator = Access.role(Role.OPERATOR).or(self);
        return AccessTable.builder()
                .add("GET", "/health", Access.anyone()) // details only for an identity
                .add("GET", "/metrics", metrics)
                .add("GET", "/openapi.json", metrics)
                .add("GET", RestServer.LOG_PATH, viewer)
                .add("PUT", RestServer.LOG_PATH, operator)
                .add("GET", API + "/transport/status", viewer)
                .add("GET", API + "/links", viewer)
                .add("POST", API + "/links/{peer}", operator)
                .add("GET", API + "/shards", viewer)
                .add("GET", LatencyApi.PATH, viewer)
                .add("POST", HandoverApi.PATH, operator)
                .add("GET", API + "/spaces", viewer)
                .add("GET", SPACE, viewer)
                .add("POST", API + "/spaces", operator)
                .add("GET", SPACE + "/description", viewer)
                .add("PUT", SPACE + "/guest", operator)
                .add("DELETE", SPACE + "/guest", operator)
                .add("PUT", SPACE + "/guest/local", operator)
                // What a guest has in its memory is nothing for a viewer.
                .add("GET", SPACE + "/pages/{page}", operator)
                .add("PUT", SPACE + "/pages/{page}", operator)
                .add("DELETE", SPACE + "/pages/{page}", operator)
                .add("GET", SPACE + "/memory", operator)
                .add("PUT", SPACE + "/memory", operator)
                .build();
    }
}
