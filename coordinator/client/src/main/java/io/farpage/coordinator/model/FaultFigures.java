package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Page faults that were counted for a while. Latencies are in nanoseconds, of faults whose page was fetched; all are 0
 * if no page was.
 *
 * @param faults all of them
 * @param fetched those whose page was fetched from its home
 * @param faultP50Ns median from reading a fault to having installed its page
 * @param faultP99Ns its 99th percentile
 * @param fetchP50Ns median of the part until the page had arrived
 * @param fetchP99Ns its 99th percentile
 */
public record FaultFigures(
        @JsonProperty(required = true) long faults,
        @JsonProperty(required = true) long fetched,
        @JsonProperty(required = true) long faultP50Ns,
        @JsonProperty(required = true) long faultP99Ns,
        @JsonProperty(required = true) long fetchP50Ns,
        @JsonProperty(required = true) long fetchP99Ns) {

    /** Checks the fields. */
    public FaultFigures {
        Check.range("faults", faults, 0, Long.MAX_VALUE);
        Check.range("fetched", fetched, 0, Long.MAX_VALUE);
        Check.range("faultP50Ns", faultP50Ns, 0, Long.MAX_VALUE);
        Check.range("faultP99Ns", faultP99Ns, 0, Long.MAX_VALUE);
        Check.range("fetchP50Ns", fetchP50Ns, 0, Long.MAX_VALUE);
        Check.range("fetchP99Ns", fetchP99Ns, 0, Long.MAX_VALUE);
    }
}
