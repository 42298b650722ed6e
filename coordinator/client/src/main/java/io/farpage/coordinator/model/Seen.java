package io.farpage.coordinator.model;

/**
 * The newest state of a cluster that an agent has seen. An agent that has joined sends it with every request, so that a
 * coordinator that knows less carries nothing out. Written as {@code clusterId/epoch/revision}.
 *
 * @param cluster that the agent has joined
 * @param epoch of the last answer
 * @param revision the highest that any answer carried
 */
public record Seen(ClusterId cluster, Epoch epoch, long revision) {

    /** The request header. */
    public static final String HEADER = "Farpage-Seen";

    /** Checks the revision. */
    public Seen {
        Check.range("revision", revision, 0, Long.MAX_VALUE);
    }

    /**
     * Reads the header.
     *
     * @throws IllegalArgumentException if the text is anything else
     */
    public static Seen parse(String text) {
        String[] parts = text.split("/", -1);
        if (parts.length != 3) {
            throw new IllegalArgumentException("'%s' is not cluster id/epoch/revision".formatted(text));
        }
        return new Seen(new ClusterId(parts[0]), Epoch.parse(parts[1]), Check.number("revision", parts[2]));
    }

    @Override
    public String toString() {
        return cluster + "/" + epoch + "/" + revision;
    }
}
