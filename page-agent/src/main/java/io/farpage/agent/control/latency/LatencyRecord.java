package io.farpage.agent.control.latency;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Collects intervals of all series. A recorder that is no longer listed, because its guest has ended, is collected once
 * more, so that no value is missed that was recorded after the last interval. Used by one thread.
 */
final class LatencyRecord {
    private final Supplier<List<LatencySeries>> series;
    private final Map<Long, Followed> followed = new HashMap<>();

    private record Followed(String name, LatencyTotals.Interval interval) {}

    LatencyRecord(Supplier<List<LatencySeries>> series) {
        this.series = series;
    }

    /** All that was recorded since the last call, or the start. */
    MergedLatencies take() {
        Map<Long, LatencySeries> listed = new HashMap<>();
        for (LatencySeries one : series.get()) {
            listed.put(one.totals().id(), one);
            followed.computeIfAbsent(
                    one.totals().id(),
                    _ -> new Followed(one.name(), one.totals().interval()));
        }
        MergedLatencies merged = new MergedLatencies();
        for (Map.Entry<Long, Followed> each : new ArrayList<>(followed.entrySet())) {
            Followed recorder = each.getValue();
            merged.add(recorder.name(), recorder.interval().take());
            if (!listed.containsKey(each.getKey())) {
                recorder.interval().close();
                followed.remove(each.getKey());
            }
        }
        return merged;
    }
}
