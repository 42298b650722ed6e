package io.farpage.coordinator.model.operation;

import io.farpage.rest.Operation.QueryParameter;

/** The query parameters that say which nodes, spaces and samples an answer has. */
public final class Filters {

    public static final QueryParameter STATUS =
            new QueryParameter("status", false, "only nodes that are active, leaving or failed");
    public static final QueryParameter ATTENTION = new QueryParameter(
            "attention", false, "true: only nodes that are not active, and those that an alert names");
    public static final QueryParameter PREFIX =
            new QueryParameter("prefix", false, "only nodes whose id begins with it");
    public static final QueryParameter AFTER = new QueryParameter(
            "after", false, "only nodes after it in the order of ids: the last one of the page before");
    public static final QueryParameter LIMIT =
            new QueryParameter("limit", false, "how many nodes at most, 0 to 10000; without it 10000");

    static final QueryParameter NAME_PREFIX =
            new QueryParameter("prefix", false, "only spaces whose name begins with it");
    static final QueryParameter NAME_AFTER = new QueryParameter(
            "after", false, "only spaces after it in the order of names: the last one of the page before");
    static final QueryParameter SPACE_LIMIT =
            new QueryParameter("limit", false, "how many spaces at most, 0 to 10000; without it 10000");

    public static final QueryParameter LINKS =
            new QueryParameter("links", false, "how many links of these nodes at most, 0 to 1000000; without it all");
    public static final QueryParameter SPACES =
            new QueryParameter("spaces", false, "how many spaces at most, 0 to 1000; without it 1000");

    /** Selects the samples of guests and nodes that a client has not seen. */
    static final QueryParameter SINCE = new QueryParameter(
            "since",
            false,
            "only samples after this time, in seconds since 1970, such as the last one seen; all when left out");

    private Filters() {}
}
