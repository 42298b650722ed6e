package io.farpage.agent.rest;

import static io.farpage.agent.rest.AgentOperations.OPERATOR;
import static io.farpage.rest.Operation.getText;
import static io.farpage.rest.Operation.put;

import io.farpage.rest.Operation;
import io.farpage.rest.Operation.QueryParameter;

/** The calls for snapshots in files, and for the states of VMMs. */
public final class ArchiveOperations {
    /** The media type of archives. */
    public static final String ZIP = "application/zip";

    private static final String ARCHIVE = GuestOperations.SPACE + "/archive";

    public static final Operation<Void, Void> SAVE =
            getText(ARCHIVE, OPERATOR, ZIP).summary("A snapshot and the state of its VMM in a ZIP archive");

    public static final Operation<Void, Void> LOAD = put(ARCHIVE, OPERATOR, "snapshot.load")
            .summary("Make a snapshot of what an archive has, or nothing")
            .with(
                    new QueryParameter(
                            "homes", false, "nodes to take its memory from, with commas; all others than this"),
                    new QueryParameter("replicas", false, "homes of each page, 1 to 3; 1"),
                    new QueryParameter("nodes", false, "nodes that may attach it, with commas; all"));

    public static final Operation<Void, Void> KEEP_STATE = put(
                    GuestOperations.SPACE + "/vmm-state", OPERATOR, "snapshot.state")
            .summary("Keep a file with a snapshot, in which the VMM of the machine has left its registers and devices");

    private ArchiveOperations() {}
}
