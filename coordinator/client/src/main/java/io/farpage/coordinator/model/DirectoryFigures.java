package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * What a home of a coherent space has done for its members since its last report.
 *
 * @param space id of the space
 * @param millis since the last report
 * @param requests for pages that were answered
 * @param recalls pages that were recalled from the member that had them for writing
 * @param invalidations pages that members were told to give up
 * @param waiting requests that wait now
 * @param lostPages pages whose newest version was lost with a member
 * @param unheard nodes of members that have not said yet which pages they have, and are not served before
 * @param bouncing the pages that members have taken from each other most often since the home began to serve them
 */
public record DirectoryFigures(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) long millis,
        @JsonProperty(required = true) long requests,
        @JsonProperty(required = true) long recalls,
        @JsonProperty(required = true) long invalidations,
        @JsonProperty(required = true) long waiting,
        @JsonProperty(required = true) long lostPages,
        @JsonProperty(required = true) List<String> unheard,
        @JsonProperty(required = true) List<Bouncing> bouncing) {

    /** The most pages that a home names. */
    public static final int MAX_BOUNCING = 8;

    private static final int MAX_WORDS = 63;

    /** Checks the fields, and copies the lists. */
    public DirectoryFigures {
        Check.range("millis", millis, 1, FiguresReport.MAX_MILLIS);
        Check.range("requests", requests, 0, Long.MAX_VALUE);
        Check.range("recalls", recalls, 0, Long.MAX_VALUE);
        Check.range("invalidations", invalidations, 0, Long.MAX_VALUE);
        Check.range("waiting", waiting, 0, Long.MAX_VALUE);
        Check.range("lostPages", lostPages, 0, Long.MAX_VALUE);
        Check.range("unheard: number of elements", unheard.size(), 0, Space.MOST_MEMBERS);
        unheard.forEach(node -> Check.name("unheard", node));
        Check.range("bouncing: number of elements", bouncing.size(), 0, MAX_BOUNCING);
        unheard = List.copyOf(unheard);
        bouncing = List.copyOf(bouncing);
    }

    /**
     * A page that members take from each other.
     *
     * @param page number of the page within the space
     * @param taken how often; perhaps fewer, if many pages are taken
     * @param from the node that had it before, or words that say that it is no longer a member
     * @param to the node that has taken it last, or such words
     */
    public record Bouncing(
            @JsonProperty(required = true) long page,
            @JsonProperty(required = true) long taken,
            @JsonProperty(required = true) String from,
            @JsonProperty(required = true) String to) {

        /** Checks the fields. */
        public Bouncing {
            Check.range("page", page, 0, 1L << 48);
            Check.range("taken", taken, 0, Long.MAX_VALUE);
            Check.text("from", from, MAX_WORDS);
            Check.text("to", to, MAX_WORDS);
        }
    }
}
