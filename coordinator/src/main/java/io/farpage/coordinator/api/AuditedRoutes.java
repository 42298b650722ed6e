package io.farpage.coordinator.api;

import io.farpage.audit.Acts;
import io.farpage.rest.RestServer;

/**
 * What the audit calls the coordinator's routes that change something: all of them, on one page. A test finds a route
 * that is missing.
 */
public final class AuditedRoutes {

    private static final String NODE = Api.PREFIX + "/nodes/{id}";
    private static final String SPACE = Api.PREFIX + "/spaces/{id}";
    private static final String REBUILD = Api.PREFIX + "/rebuild";

    private AuditedRoutes() {}

    /** The table, of a coordinator that serves and of one that is being rebuilt. */
    public static Acts table() {
        return Acts.builder()
                .add("POST", Api.PREFIX + "/cluster", "cluster.form")
                .add("DELETE", Api.PREFIX + "/cluster", "cluster.dissolve")
                .add("GET", Api.PREFIX + "/backup", "store.backup")
                .add("POST", Api.PREFIX + "/join", "node.join")
                .add("POST", NODE + "/certificate", "certificate.renew")
                .add("PUT", NODE, "node.register")
                .add("DELETE", NODE, "node.remove")
                .add("PUT", NODE + "/grants/{space}/{node}", "grant.give")
                .add("PUT", NODE + "/grants/{space}/{node}/pulls/{page}/{epoch}", "grant.give")
                .add("POST", NODE + "/pulls", "space.pull")
                .add("POST", Api.PREFIX + "/spaces", "space.create")
                .add("DELETE", SPACE, "space.delete")
                .add("PUT", SPACE + "/nodes", "space.allow")
                .add("PUT", SPACE + "/attachments/{node}", "space.attach")
                .add("DELETE", SPACE + "/attachments/{node}", "space.detach")
                .add("POST", SPACE + "/attachments/{node}/drops", "space.drop")
                .add("POST", SPACE + "/attachments/{node}/promotions", "space.promote")
                .add("POST", SPACE + "/attachments/{node}/pulls", "space.allow-pulls")
                .add("POST", NODE + "/drain", "node.drain")
                .add("DELETE", NODE + "/drain", "node.drain-cancel")
                .add("PUT", REBUILD + "/nodes/{id}", "rebuild.report")
                .add("POST", REBUILD + "/finish", "rebuild.finish")
                .add("PUT", RestServer.LOG_PATH, "log.level")
                // Agents repeat these all the time; the agents' own audits tell of their links.
                .routine("POST", NODE + "/heartbeat")
                .routine("POST", NODE + "/figures")
                .routine("POST", NODE + "/copies")
                .routine("PUT", NODE + "/endpoints/{peer}")
                .routine("DELETE", NODE + "/endpoints/{peer}")
                .routine("PUT", NODE + "/regions/{name}")
                .routine("POST", NODE + "/hosted/ack")
                .routine("POST", SPACE + "/attachments/{node}/drops/ack")
                .routine("POST", SPACE + "/heat")
                .build();
    }
}
