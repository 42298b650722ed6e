/* What a round gave, as the one line of JSON that the Java side reads. */
#ifndef FARPAGE_FIGURES_H
#define FARPAGE_FIGURES_H

#include <stdbool.h>

#include "latency_histogram.h"
#include "scheduling.h"

struct figures {
    const char *name;
    const char *transport; /* tcp if it is NULL */
    const char *pattern;
    const char *placement;
    const char *backing;
    uint64_t page_size;
    uint64_t depth;
    uint64_t count;
    uint64_t mismatches;
    uint64_t elapsed_ns;
    uint64_t first_ns; /* 0 if it is not known */
    struct scheduling scheduling; /* of a process that ends with the round */
    const struct latency_histogram *latencies;
    bool with_latencies;
};

static inline void print_figures(const struct figures *f) {
    const struct latency_histogram *h = f->latencies;
    printf("{\"name\":\"%s\",\"transport\":\"%s\",\"pageSize\":%" PRIu64 ",\"depth\":%" PRIu64
           ",\"pattern\":\"%s\",\"placement\":\"%s\",\"backing\":\"%s\"",
            f->name, f->transport == NULL ? "tcp" : f->transport, f->page_size, f->depth, f->pattern, f->placement, f->backing);
    printf(",\"count\":%" PRIu64 ",\"mismatches\":%" PRIu64 ",\"p50Ns\":%" PRIu64 ",\"p90Ns\":%" PRIu64
           ",\"p99Ns\":%" PRIu64 ",\"p999Ns\":%" PRIu64 ",\"maxNs\":%" PRIu64 ",\"elapsedNs\":%" PRIu64
           ",\"preemptions\":%" PRIu64 ",\"waitedNs\":%" PRIu64 ",\"pagesPerSecond\":%.1f",
            f->count, f->mismatches, latency_percentile(h, 50), latency_percentile(h, 90), latency_percentile(h, 99),
            latency_percentile(h, 99.9), h->max, f->elapsed_ns,
            f->scheduling.preemptions, f->scheduling.waited_ns,
            (double) f->count / ((double) f->elapsed_ns / 1e9));
    if (f->first_ns != 0) {
        printf(",\"firstNs\":%" PRIu64, f->first_ns);
    }
    if (f->with_latencies) {
        fputs(",\"latencies\":", stdout);
        latency_print(h, stdout);
    }
    puts("}");
    fflush(stdout);
}

#endif
