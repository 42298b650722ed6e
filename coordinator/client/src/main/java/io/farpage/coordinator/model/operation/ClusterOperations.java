package io.farpage.coordinator.model.operation;

import static io.farpage.coordinator.model.operation.Rights.ADMIN;
import static io.farpage.coordinator.model.operation.Rights.ANYONE;
import static io.farpage.coordinator.model.operation.Rights.OPERATOR;
import static io.farpage.coordinator.model.operation.Rights.READ;
import static io.farpage.rest.Operation.delete;
import static io.farpage.rest.Operation.get;
import static io.farpage.rest.Operation.post;

import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.JoinRequest;
import io.farpage.coordinator.model.StoreCopy;
import io.farpage.rest.Operation;
import io.farpage.rest.Operation.QueryParameter;

/** The cluster as a whole. */
public final class ClusterOperations {

    private static final String PATH = Operation.API + "/cluster";

    public static final Operation<Void, Cluster> CLUSTER =
            get(PATH, READ, Cluster.class).summary("The cluster that was formed");

    public static final Operation<ClusterRequest, Cluster> FORM = post(PATH, ADMIN, "cluster.form")
            .json(ClusterRequest.class, Cluster.class)
            .withStatus(201)
            .summary("Form the cluster from the nodes that are expected");

    public static final Operation<Void, Void> DISSOLVE =
            delete(PATH, ADMIN, "cluster.dissolve").summary("Dissolve the cluster; nodes and spaces stay");

    /** Changes nothing and is audited all the same: it hands out all that the coordinator knows. */
    public static final Operation<Void, StoreCopy> BACKUP = get(Operation.API + "/backup", OPERATOR, StoreCopy.class)
            .audited("store.backup")
            .summary("All rows of the store at one revision, as 'coordinator backup' writes them to a file");

    /** The join token in the body is what authorises it. */
    public static final Operation<JoinRequest, IssuedCertificate> JOIN = post(
                    Operation.API + "/join", ANYONE, "node.join")
            .json(JoinRequest.class, IssuedCertificate.class)
            .summary("Exchange a join token for a node's first certificate");

    public static final Operation<Void, EventBatch> EVENTS = get(Operation.API + "/events", READ, EventBatch.class)
            .summary("Wait for events after an index")
            .with(
                    new QueryParameter("index", false, "the last one seen; 0 when left out"),
                    new QueryParameter(
                            "wait", false, "how long to wait for one, such as 30s; up to 60s, 0s when left out"),
                    new QueryParameter("node", false, "only events that concern this node; all events when left out"),
                    new QueryParameter(
                            "peers",
                            false,
                            "with node: ids, separated by commas, of the nodes whose changes concern it;"
                                    + " all nodes when left out"));

    private ClusterOperations() {}
}
