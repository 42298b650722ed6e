package io.farpage.agent.control.latency;

/**
 * A recorder under the name that its latencies are logged and shown with. Several recorders may have one name: those of
 * a guest's pagers.
 *
 * @param name {@code WHAT:WHOSE}, such as {@code fault:demo}; neither part has a space or a comma
 * @param totals of the recorder
 */
public record LatencySeries(String name, LatencyTotals totals) {
    private static final char BETWEEN = ':';

    /** @throws IllegalArgumentException if a log's tag cannot be of that form */
    public LatencySeries {
        if (name.isEmpty() || name.chars().anyMatch(c -> c <= ' ' || c == ',' || c == '"')) {
            throw new IllegalArgumentException(
                    "series '" + name + "' has a space, a comma or a quotation mark, which a tag of a log cannot have");
        }
    }

    /** A series of one guest or tool. */
    public static LatencySeries of(String what, String whose, LatencyTotals totals) {
        return new LatencySeries(what + BETWEEN + whose, totals);
    }

    /** The name of the sum over all guests or tools: the part before the colon. */
    static String sum(String name) {
        int end = name.indexOf(BETWEEN);
        return end < 0 ? name : name.substring(0, end);
    }
}
