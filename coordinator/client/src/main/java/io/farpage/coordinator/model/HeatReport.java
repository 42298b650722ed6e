package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * How often pages were asked for lately, the body of {@code POST /spaces/{id}/heat}. It replaces what was reported
 * before for the same pages.
 *
 * @param ranges up to 65536
 */
public record HeatReport(@JsonProperty(required = true) List<Range> ranges) {

    /** Checks the number of ranges. */
    public HeatReport {
        Check.range("ranges: number of elements", ranges.size(), 0, 65536);
        ranges = List.copyOf(ranges);
    }

    /**
     * Pages whose faults were counted together.
     *
     * @param firstPage number of the first page within the space
     * @param count how many
     * @param heat faults of all of them in a minute, at the rate of late: what was counted is halved every 30 seconds
     */
    public record Range(
            @JsonProperty(required = true) long firstPage,
            @JsonProperty(required = true) long count,
            @JsonProperty(required = true) long heat) {

        /** Checks the fields. */
        public Range {
            Check.range("firstPage", firstPage, 0, 1L << 48);
            Check.range("count", count, 1, 1L << 48);
            Check.range("heat", heat, 0, Long.MAX_VALUE);
        }
    }
}
