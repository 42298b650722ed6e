package io.farpage.coordinator.model.operation;

import static io.farpage.coordinator.model.operation.Rights.ADMIN;
import static io.farpage.coordinator.model.operation.Rights.READ;
import static io.farpage.coordinator.model.operation.Rights.SELF;
import static io.farpage.rest.Operation.get;
import static io.farpage.rest.Operation.post;
import static io.farpage.rest.Operation.put;

import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.RebuildFinish;
import io.farpage.coordinator.model.RebuildStatus;
import io.farpage.rest.Operation;

/** The rebuild of a coordinator. A coordinator that is being rebuilt serves these alone. */
public final class RebuildOperations {

    /** What their paths begin with. */
    public static final String PATH = Operation.API + "/rebuild";

    public static final Operation<Void, RebuildStatus> STATUS =
            get(PATH, READ, RebuildStatus.class).summary("How far the rebuild is");

    public static final Operation<NodeReport, RebuildStatus> REPORT = put(PATH + "/nodes/{id}", SELF, "rebuild.report")
            .json(NodeReport.class, RebuildStatus.class)
            .summary("Report what an agent knows");

    public static final Operation<RebuildFinish, RebuildStatus> FINISH = post(PATH + "/finish", ADMIN, "rebuild.finish")
            .json(RebuildFinish.class, RebuildStatus.class)
            .summary("End the rebuild and begin to serve");

    private RebuildOperations() {}
}
