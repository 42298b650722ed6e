package io.farpage.agent.rest;

import static io.farpage.rest.Operation.get;
import static io.farpage.rest.Operation.list;
import static io.farpage.rest.Operation.post;

import io.farpage.access.Access;
import io.farpage.access.Role;
import io.farpage.agent.control.link.LinkStatus;
import io.farpage.agent.data.coherence.DirectoryStatus;
import io.farpage.rest.Operation;
import java.util.List;

/** The calls for the agent itself. Programs on its host show its certificate, and may do everything. */
public final class AgentOperations {
    static final Access VIEWER = Access.role(Role.VIEWER).or(Access.ownNode());
    static final Access OPERATOR = Access.role(Role.OPERATOR).or(Access.ownNode());

    private static final String LINKS = Operation.API + "/links";

    public static final Operation<Void, TransportStatus> TRANSPORTS = get(
                    Operation.API + "/transport/status", VIEWER, TransportStatus.class)
            .summary("Which transports are in use and why");

    public static final Operation<Void, List<LinkStatus>> LIST_LINKS =
            list(LINKS, VIEWER, LinkStatus.class).summary("The links to all peers");

    public static final Operation<Void, Void> START_LINK =
            post(LINKS + "/{peer}", OPERATOR, "link.request").withStatus(202).summary("Start the link to a peer now");

    public static final Operation<Void, List<ShardApi.ShardStatus>> SHARDS = list(
                    Operation.API + "/shards", VIEWER, ShardApi.ShardStatus.class)
            .summary("The threads that move pages, and how they are scheduled");

    public static final Operation<Void, List<DirectoryStatus>> DIRECTORIES = list(
                    Operation.API + "/directories", VIEWER, DirectoryStatus.class)
            .summary("The coherent spaces that this node is a home of: members, requests, pages that members take from"
                    + " each other");

    public static final Operation<Void, LatencyApi.Latencies> LATENCIES = get(
                    Operation.API + "/latencies", VIEWER, LatencyApi.Latencies.class)
            .summary("The latencies of all faults and transfers so far, as histograms of HdrHistogram");

    public static final Operation<Void, HandoverStatus> HAND_OVER = post(
                    Operation.API + "/handover", OPERATOR, "agent.hand-over")
            .answering(HandoverStatus.class)
            .withStatus(202)
            .summary("End in favour of the warm standby, which goes on with the pool and the guests");

    private AgentOperations() {}
}
