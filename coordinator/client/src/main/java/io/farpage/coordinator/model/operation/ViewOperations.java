package io.farpage.coordinator.model.operation;

import static io.farpage.coordinator.model.operation.Rights.VIEWER;
import static io.farpage.rest.Operation.get;
import static io.farpage.rest.Operation.list;

import io.farpage.coordinator.model.GuestFigures;
import io.farpage.coordinator.model.NodeFigures;
import io.farpage.coordinator.model.Overview;
import io.farpage.coordinator.model.SpaceUse;
import io.farpage.rest.Operation;
import java.util.List;

/** What the dashboard and the commands for operators show. */
public final class ViewOperations {

    private static final String OVERVIEW = Operation.API + "/overview";
    private static final String FIGURES = Operation.API + "/figures";

    public static final Operation<Void, Overview> OF_CLUSTER = get(OVERVIEW, VIEWER, Overview.class)
            .summary("What is wrong in the cluster, counts of the whole of it, and a page of its nodes with"
                    + " their links")
            .with(
                    Filters.STATUS,
                    Filters.ATTENTION,
                    Filters.PREFIX,
                    Filters.AFTER,
                    Filters.LIMIT,
                    Filters.LINKS,
                    Filters.SPACES);

    public static final Operation<Void, List<SpaceUse>> OF_SPACES = list(OVERVIEW + "/spaces", VIEWER, SpaceUse.class)
            .summary("Spaces in the order of their names: where they are, and which nodes work with them")
            .with(Filters.NAME_PREFIX, Filters.NAME_AFTER, Filters.SPACE_LIMIT);

    public static final Operation<Void, NodeFigures> FIGURES_OF_NODES = get(
                    FIGURES + "/nodes", VIEWER, NodeFigures.class)
            .summary("How the guests of each node have faulted in the last 15 minutes, in the order of the nodes' ids")
            .with(Filters.STATUS, Filters.PREFIX, Filters.AFTER, Filters.LIMIT, Filters.SINCE);

    public static final Operation<Void, GuestFigures> FIGURES_OF_GUESTS = get(
                    FIGURES + "/guests", VIEWER, GuestFigures.class)
            .summary("How each guest has faulted in the last 15 minutes, and how members share coherent spaces, in the"
                    + " order of the names of the spaces")
            .with(Filters.NAME_PREFIX, Filters.NAME_AFTER, Filters.SPACE_LIMIT, Filters.SINCE);

    public static final Operation<Void, GuestFigures> FIGURES_OF_GUEST = get(
                    FIGURES + "/guests/{id}", VIEWER, GuestFigures.class)
            .summary("How the guest of a space has faulted, and where its pages are over its address space,"
                    + " which its agent sends within seconds of the first request; none if none was reported in"
                    + " the last 15 minutes")
            .with(Filters.SINCE);

    private ViewOperations() {}
}
