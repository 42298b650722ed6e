package io.farpage.coordinator.model;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * Some of the nodes, in the order of their ids.
 *
 * @param status that they have, if it matters
 * @param attention whether only those that are not active, and those that an alert names
 * @param prefix that their ids begin with; empty for any
 * @param after the last id of the page before; empty for the first page
 * @param limit of their number, 0 to {@value #MAX_LIMIT}
 */
public record NodeFilter(Optional<NodeStatus> status, boolean attention, String prefix, String after, int limit) {

    /** The most nodes of one page. */
    public static final int MAX_LIMIT = 10_000;

    /** All nodes, if they are not more than a page may have. */
    public static final NodeFilter ALL = new NodeFilter(Optional.empty(), false, "", "", MAX_LIMIT);

    /** Checks the limit. */
    public NodeFilter {
        Check.range("limit", limit, 0, MAX_LIMIT);
    }

    /** Whether a node is among them, limit and attention apart. */
    public boolean includes(Node node) {
        return node.id().compareTo(after) > 0
                && node.id().startsWith(prefix)
                && status.map(wanted -> wanted == node.status()).orElse(true);
    }

    /** The same nodes, at most {@code other}. */
    public NodeFilter withLimit(int other) {
        return new NodeFilter(status, attention, prefix, after, other);
    }

    /** As the parameters of a request. */
    public String query() {
        return "limit=" + limit
                + status.map(wanted -> "&status=" + wanted).orElse("")
                + (attention ? "&attention=true" : "")
                + parameter("prefix", prefix)
                + parameter("after", after);
    }

    private static String parameter(String name, String value) {
        return value.isEmpty() ? "" : "&" + name + "=" + URLEncoder.encode(value, StandardCharsets.UTF_8);
    }
}
