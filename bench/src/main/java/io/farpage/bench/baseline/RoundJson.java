package io.farpage.bench.baseline;

import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Scheduling;
import java.time.Duration;
import java.util.List;
import org.HdrHistogram.Histogram;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** The line of JSON that the program prints for a round; members not named here are for people. */
record RoundJson(
        String name,
        String placement,
        String backing,
        long count,
        long mismatches,
        long elapsedNs,
        long preemptions,
        long waitedNs,
        List<long[]> latencies) {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .build();

    static BaselineProcess.Measured parse(String line) {
        RoundJson json;
        try {
            json = MAPPER.readValue(line, RoundJson.class);
        } catch (JacksonException notJson) {
            throw new BaselineException(line, notJson);
        }
        FetchRound round = new FetchRound(
                json.histogram(),
                json.mismatches(),
                Duration.ofNanos(json.elapsedNs()),
                new Scheduling(json.preemptions(), json.waitedNs()));
        if (round.latencies().getTotalCount() != json.count()) {
            throw new BaselineException("the C baseline counted " + json.count() + " fetches but gave the latencies of "
                    + round.latencies().getTotalCount());
        }
        return new BaselineProcess.Measured(json.name(), json.placement(), json.backing(), round);
    }

    private Histogram histogram() {
        Histogram histogram = FetchRound.newHistogram();
        latencies.forEach(bucket -> histogram.recordValueWithCount(bucket[0], bucket[1]));
        return histogram;
    }
}
