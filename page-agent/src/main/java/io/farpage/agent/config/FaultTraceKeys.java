package io.farpage.agent.config;

import io.farpage.agent.data.pager.memory.FaultTrace;
import io.farpage.config.Config;
import io.farpage.config.Key;
import java.time.Duration;
import java.util.List;

/** The keys of traces of faults. */
public final class FaultTraceKeys {
    public static final Key<Integer> ONE_IN = Key.integer(
            "trace.faults.one_in",
            1000,
            0,
            1_000_000_000,
            "Sampling interval: one in that number of the faults of each guest that fetch a page is traced; 0 traces"
                    + " slow faults only. Only with `trace.otlp.endpoint`.");
    public static final Key<Duration> SLOWER_THAN = Key.duration(
            "trace.faults.slower_than", "10ms", "0s", "1h", "Every such fault that takes longer is traced, too.");

    /** All of them, in the order of the reference page. */
    static final List<Key<?>> ALL = List.of(ONE_IN, SLOWER_THAN);

    private FaultTraceKeys() {}

    /** Which faults are traced. */
    public static FaultTrace.Sampling sampling(Config config) {
        return new FaultTrace.Sampling(
                config.get(ONE_IN), config.get(SLOWER_THAN).toNanos());
    }
}
