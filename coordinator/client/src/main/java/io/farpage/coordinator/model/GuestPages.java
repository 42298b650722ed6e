package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * How many pages of a guest are where, at one moment.
 *
 * @param all pages of its space
 * @param limit the most that may be resident, apart from stranded ones; at least {@code all} if the guest has no limit
 * @param resident in the memory of its host
 * @param dirty resident, and newer than at their homes
 * @param remote at their homes, or being fetched
 * @param zero never written, or given up
 * @param lost lost with their homes
 * @param stranded resident while their home is lost: the only copies
 */
public record GuestPages(
        @JsonProperty(required = true) long all,
        @JsonProperty(required = true) long limit,
        @JsonProperty(required = true) long resident,
        @JsonProperty(required = true) long dirty,
        @JsonProperty(required = true) long remote,
        @JsonProperty(required = true) long zero,
        @JsonProperty(required = true) long lost,
        @JsonProperty(required = true) long stranded) {

    /** Checks the fields. */
    public GuestPages {
        Check.range("all", all, 0, Long.MAX_VALUE);
        Check.range("limit", limit, 0, Long.MAX_VALUE);
        Check.range("resident", resident, 0, Long.MAX_VALUE);
        Check.range("dirty", dirty, 0, Long.MAX_VALUE);
        Check.range("remote", remote, 0, Long.MAX_VALUE);
        Check.range("zero", zero, 0, Long.MAX_VALUE);
        Check.range("lost", lost, 0, Long.MAX_VALUE);
        Check.range("stranded", stranded, 0, Long.MAX_VALUE);
    }
}
