package io.farpage.coordinator.model.operation;

import static io.farpage.coordinator.model.operation.Rights.ATTACHED_NODE;
import static io.farpage.coordinator.model.operation.Rights.OPERATOR;
import static io.farpage.coordinator.model.operation.Rights.READ;
import static io.farpage.rest.Operation.ROUTINE;
import static io.farpage.rest.Operation.delete;
import static io.farpage.rest.Operation.get;
import static io.farpage.rest.Operation.list;
import static io.farpage.rest.Operation.post;
import static io.farpage.rest.Operation.put;

import io.farpage.access.Access;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.NewAttachment;
import io.farpage.coordinator.model.PageInfo;
import io.farpage.coordinator.model.Repair;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceReplicas;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.Operation;
import io.farpage.rest.Operation.HeaderParameter;
import io.farpage.rest.Operation.QueryParameter;
import java.util.List;

/** Spaces, by id or name, and what attached nodes say of them. */
public final class SpaceOperations {

    /** The setting that lets nodes create spaces. */
    public static final String NODES_CREATE_SPACES = "access.nodes_create_spaces";

    private static final String SPACES = Operation.API + "/spaces";
    private static final String SPACE = SPACES + "/{id}";
    private static final String NODES = SPACE + "/nodes";
    private static final String ATTACHMENTS = SPACE + "/attachments";
    private static final String ATTACHMENT = ATTACHMENTS + "/{node}";

    public static final Operation<Void, List<Space>> LIST =
            list(SPACES, READ, Space.class).summary("All spaces");

    public static final Operation<SpaceRequest, Space> CREATE = post(
                    SPACES, OPERATOR.or(Access.anyNodeIf(NODES_CREATE_SPACES)), "space.create")
            .json(SpaceRequest.class, Space.class)
            .withStatus(201)
            .summary("Make a space and allocate all its extents, or nothing; those of a thin space get room later")
            .with(new HeaderParameter(
                    Operation.IDEMPOTENCY_KEY,
                    "drawn for this request; the same request with it again answers the same space"))
            .with(new QueryParameter(
                    "presence",
                    false,
                    "true: with a map of the pages that its homes have, so that pages of zeros are not fetched"));

    /** From now on the space is read-only. */
    public static final Operation<Void, Space> MAKE_SNAPSHOT = post(SPACE + "/snapshot", OPERATOR, "space.snapshot")
            .answering(Space.class)
            .summary("Make a snapshot of a space that no node uses: it is read-only from then on");

    public static final Operation<CloneRequest, Space> MAKE_CLONE = post(
                    SPACE + "/clones", OPERATOR.or(Access.anyNodeIf(NODES_CREATE_SPACES)), "space.clone")
            .json(CloneRequest.class, Space.class)
            .withStatus(201)
            .summary("Make a clone of a snapshot: a space whose guest begins with the snapshot's pages")
            .with(new HeaderParameter(
                    Operation.IDEMPOTENCY_KEY,
                    "drawn for this request; the same request with it again answers the same space"));

    public static final Operation<AttachRequest, NewAttachment> ATTACH_CLONE = put(
                    SPACE + "/clones/{clone}/attachments/{node}",
                    OPERATOR.or(Access.nodeInPathIf("node", NODES_CREATE_SPACES)),
                    "space.clone")
            .json(AttachRequest.class, NewAttachment.class)
            .summary("Make a clone of a snapshot and attach a node to it, in one change; the answer has its extents");

    public static final Operation<Void, Space> SHOW =
            get(SPACE, READ, Space.class).summary("A space by id or name");

    public static final Operation<Void, Void> DELETE = delete(SPACE, OPERATOR, "space.delete")
            .summary("Delete a space once no node is attached to it; its frames are free when its homes have"
                    + " zeroed it")
            .with(new QueryParameter(
                    "force", false, "true: delete it even under a guest that runs, which loses its memory"));

    public static final Operation<Void, SpaceNodes> ALLOWED = get(NODES, READ, SpaceNodes.class)
            .summary("Which nodes may attach a space, with the ETag of the list; all, if none is named");

    public static final Operation<SpaceNodes, Space> ALLOW = put(NODES, OPERATOR, "space.allow")
            .json(SpaceNodes.class, Space.class)
            .summary("Say which nodes may attach a space; all, if none is named")
            .with(new HeaderParameter(
                    "If-Match", "the ETag of the list that was read: refused with 412 if the list has changed since"));

    public static final Operation<SpaceReplicas, Space> REPLICATE = put(
                    SPACE + "/replicas", OPERATOR, "space.replicate")
            .json(SpaceReplicas.class, Space.class)
            .summary("Give each extent of a space more homes, which pull its pages");

    public static final Operation<Void, List<Attachment>> ATTACHED =
            list(ATTACHMENTS, READ, Attachment.class).summary("The nodes that work with a space");

    public static final Operation<AttachRequest, NewAttachment> ATTACH = put(ATTACHMENT, ATTACHED_NODE, "space.attach")
            .json(AttachRequest.class, NewAttachment.class)
            .summary("Attach a node to a space")
            .with(new QueryParameter("extents", false, "true: the answer has the extents of the space, too"));

    public static final Operation<Void, Void> DETACH = delete(ATTACHMENT, ATTACHED_NODE, "space.detach")
            .summary("Detach a node from a space")
            .with(
                    new QueryParameter("incarnation", true, "of the node, 16 hex digits"),
                    new QueryParameter("torn", false, "why not all pages are at their homes: marks the space as torn"),
                    new QueryParameter(
                            "seal",
                            false,
                            "of an encrypted space: the mark of the file that the agent has left the tags"
                                    + " in, 32 hex digits"),
                    new QueryParameter(
                            "presence", false, "the mark of the presence map that the agent has left, 32 hex digits"),
                    new QueryParameter(
                            "loaded",
                            false,
                            "true: the node has written all pages of the space, which becomes a snapshot"));

    public static final Operation<DropRequest, SpaceExtents> DROP = post(
                    ATTACHMENT + "/drops", ATTACHED_NODE, "space.drop")
            .json(DropRequest.class, SpaceExtents.class)
            .summary("The node that writes a space drops a home from extents that have others");

    public static final Operation<WriterRequest, SpaceExtents> ACKNOWLEDGE_DROPS = post(
                    ATTACHMENT + "/drops/ack", ATTACHED_NODE, ROUTINE)
            .json(WriterRequest.class, SpaceExtents.class)
            .summary("The writer has nothing under way to the homes that were dropped");

    public static final Operation<WriterRequest, SpaceExtents> ALLOCATE = post(
                    ATTACHMENT + "/allocations", ATTACHED_NODE, "space.allocate")
            .json(WriterRequest.class, SpaceExtents.class)
            .summary("An attached node is about to write to extents of a thin space: as many as there is room for are"
                    + " allocated");

    public static final Operation<WriterRequest, SpaceExtents> DEALLOCATE = post(
                    ATTACHMENT + "/deallocations", ATTACHED_NODE, "space.deallocate")
            .json(WriterRequest.class, SpaceExtents.class)
            .summary("All pages of extents of a thin space are zeros: their room is given back");

    /** From now on the space is a clone of the snapshot. */
    public static final Operation<SnapshotRequest, Space> MAKE_SNAPSHOT_OF_GUEST = post(
                    ATTACHMENT + "/snapshot", ATTACHED_NODE, "space.snapshot")
            .json(SnapshotRequest.class, Space.class)
            .withStatus(201)
            .summary("Make a snapshot of the pages that the homes of a running guest's space have; the space is a clone"
                    + " of it from then on");

    public static final Operation<WriterRequest, SpaceExtents> PROMOTE = post(
                    ATTACHMENT + "/promotions", ATTACHED_NODE, "space.promote")
            .json(WriterRequest.class, SpaceExtents.class)
            .summary("The node that writes a space has copied all pages of extents to the home that joins each");

    public static final Operation<WriterRequest, SpaceExtents> ALLOW_PULLS = post(
                    ATTACHMENT + "/pulls", ATTACHED_NODE, "space.allow-pulls")
            .json(WriterRequest.class, SpaceExtents.class)
            .summary("The node that writes a space notes what it writes to extents, and the home that joins"
                    + " each may copy the pages");

    public static final Operation<Void, SpaceExtents> EXTENTS =
            get(SPACE + "/extents", READ, SpaceExtents.class).summary("Where the pages of a space live");

    public static final Operation<Void, Repair> REPAIR =
            get(SPACE + "/repair", READ, Repair.class).summary("How far a space is from having all its homes");

    public static final Operation<Void, PageInfo> PAGE = get(SPACE + "/pages/{gpa}", READ, PageInfo.class)
            .summary("Where the page is that has a guest-physical address, 0x and hex digits or decimal");

    /** The coordinator also refuses nodes that the space does not concern. */
    public static final Operation<HeatReport, Void> HEAT = post(SPACE + "/heat", Access.anyNode(), ROUTINE)
            .taking(HeatReport.class)
            .summary("Report how often pages were touched");

    private SpaceOperations() {}
}
