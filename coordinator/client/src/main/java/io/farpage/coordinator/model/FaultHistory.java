package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * How faults were in the last 15 minutes: the reports, the oldest first, a list for each figure. Latencies are in
 * nanoseconds, and 0 where no page was fetched.
 *
 * @param at when each was reported, in seconds since 1970
 * @param faultsPerSecond faults in a second
 * @param faultP50Ns as in {@link FaultFigures}
 * @param faultP99Ns as in {@link FaultFigures}
 * @param fetchP50Ns as in {@link FaultFigures}
 * @param fetchP99Ns as in {@link FaultFigures}
 */
public record FaultHistory(
        @JsonProperty(required = true) List<Long> at,
        @JsonProperty(required = true) List<Double> faultsPerSecond,
        @JsonProperty(required = true) List<Long> faultP50Ns,
        @JsonProperty(required = true) List<Long> faultP99Ns,
        @JsonProperty(required = true) List<Long> fetchP50Ns,
        @JsonProperty(required = true) List<Long> fetchP99Ns) {

    /** Copies the lists. */
    public FaultHistory {
        at = List.copyOf(at);
        faultsPerSecond = List.copyOf(faultsPerSecond);
        faultP50Ns = List.copyOf(faultP50Ns);
        faultP99Ns = List.copyOf(faultP99Ns);
        fetchP50Ns = List.copyOf(fetchP50Ns);
        fetchP99Ns = List.copyOf(fetchP99Ns);
    }
}
