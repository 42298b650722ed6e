package io.farpage.bench.fetch;

import java.util.Locale;

/** What is looked at. */
enum Mode {
    /** One page at a time. */
    LATENCY,
    /** As many pages as possible. */
    THROUGHPUT;

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
