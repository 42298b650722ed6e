package io.farpage.agent.rest;

import static io.farpage.agent.rest.AgentOperations.OPERATOR;
import static io.farpage.agent.rest.AgentOperations.VIEWER;
import static io.farpage.rest.Operation.delete;
import static io.farpage.rest.Operation.get;
import static io.farpage.rest.Operation.list;
import static io.farpage.rest.Operation.post;
import static io.farpage.rest.Operation.put;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.agent.control.guest.LocalLimit;
import io.farpage.agent.control.guest.NewSpace;
import io.farpage.agent.control.guest.ParkRequest;
import io.farpage.agent.control.guest.ParkResult;
import io.farpage.agent.control.guest.SnapshotName;
import io.farpage.agent.control.guest.SnapshotPreparation;
import io.farpage.agent.control.guest.SnapshotStatus;
import io.farpage.agent.control.guest.UnparkRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.Operation;
import java.util.List;

/** The calls for guests and their spaces. */
public final class GuestOperations {
    static final String SPACE = Operation.API + "/spaces/{space}";

    private static final String SPACES = Operation.API + "/spaces";
    private static final String GUEST = SPACE + "/guest";

    public static final Operation<Void, List<GuestStatus>> LIST = list(SPACES, VIEWER, GuestStatus.class)
            .summary("The spaces that are the memory of guests on this node: pages, faults, latencies, evictions");

    public static final Operation<NewSpace, Space> CREATE_SPACE = post(SPACES, OPERATOR, "space.create")
            .json(NewSpace.class, Space.class)
            .withStatus(201)
            .summary("Create a space, encrypted with a key of this agent or not");

    public static final Operation<Void, GuestStatus> SHOW =
            get(SPACE, VIEWER, GuestStatus.class).summary("One of these spaces");

    public static final Operation<Void, Space> DESCRIBE_SPACE = get(SPACE + "/description", VIEWER, Space.class)
            .summary("A space as the coordinator has it, whether it has a guest or not");

    public static final Operation<GuestRequest, GuestStatus> ATTACH = put(GUEST, OPERATOR, "guest.attach")
            .json(GuestRequest.class, GuestStatus.class)
            .summary("Prepare to serve a guest, whose VMM hands its memory over on a Unix socket");

    public static final Operation<Void, Void> DETACH =
            delete(GUEST, OPERATOR, "guest.detach").summary("Remove a guest whose VMM does not run");

    public static final Operation<LocalLimit, GuestStatus> RESIZE = put(GUEST + "/local", OPERATOR, "guest.resize")
            .json(LocalLimit.class, GuestStatus.class)
            .summary("Change how much of a guest's memory may be resident");

    public static final Operation<ParkRequest, ParkResult> PARK = post(GUEST + "/park", OPERATOR, "guest.park")
            .json(ParkRequest.class, ParkResult.class)
            .summary("Move all but a few pages of a guest to their homes, while its VMM lives");

    public static final Operation<UnparkRequest, GuestStatus> UNPARK = post(GUEST + "/unpark", OPERATOR, "guest.unpark")
            .json(UnparkRequest.class, GuestStatus.class)
            .summary("Bring the pages back that were resident when a guest was parked");

    public static final Operation<SnapshotName, SnapshotPreparation> PREPARE_SNAPSHOT = post(
                    GUEST + "/snapshot/preparation", OPERATOR, "guest.snapshot.prepare")
            .json(SnapshotName.class, SnapshotPreparation.class)
            .summary(
                    "Write-protect the memory of a guest while it runs, so that the pause for its snapshot is shorter");

    public static final Operation<SnapshotName, SnapshotStatus> SNAPSHOT = post(
                    GUEST + "/snapshot", OPERATOR, "guest.snapshot")
            .json(SnapshotName.class, SnapshotStatus.class)
            .summary("Make a snapshot of a guest: pause its VMM before, and resume it when this has answered");

    public static final Operation<Void, SnapshotStatus> SNAPSHOT_STATUS =
            get(GUEST + "/snapshot", VIEWER, SnapshotStatus.class).summary("How far the latest snapshot of a guest is");

    private GuestOperations() {}
}
