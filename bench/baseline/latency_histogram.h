/*
 * Latencies in nanoseconds in log-linear buckets: those of HdrHistogram with 3 significant digits and a lowest value of
 * 1, so that a value recorded here and one recorded in Java fall into the same bucket and percentiles compare exactly.
 */
#ifndef FARPAGE_LATENCY_HISTOGRAM_H
#define FARPAGE_LATENCY_HISTOGRAM_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LATENCY_HALF 1024                                        /* buckets per power of two */
#define LATENCY_HIGHEST ((1ull << 36) - 1)                       /* 68.7 s; anything longer is counted there */
#define LATENCY_BUCKETS (LATENCY_HALF * 2 + LATENCY_HALF * 25)

struct latency_histogram {
    uint64_t total;
    uint64_t max;
    uint64_t counts[LATENCY_BUCKETS];
};

static inline void latency_reset(struct latency_histogram *h) {
    memset(h, 0, sizeof *h);
}

static inline void latency_record(struct latency_histogram *h, uint64_t ns) {
    if (ns > LATENCY_HIGHEST) {
        ns = LATENCY_HIGHEST;
    }
    unsigned shift = 53u - (unsigned) __builtin_clzll(ns | (2 * LATENCY_HALF - 1));
    h->counts[shift * LATENCY_HALF + (ns >> shift)]++;
    h->total++;
    if (ns > h->max) {
        h->max = ns;
    }
}

static inline void latency_add(struct latency_histogram *h, const struct latency_histogram *other) {
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        h->counts[bucket] += other->counts[bucket];
    }
    h->total += other->total;
    h->max = other->max > h->max ? other->max : h->max;
}

static inline uint64_t latency_lowest_of(unsigned bucket) {
    if (bucket < 2 * LATENCY_HALF) {
        return bucket;
    }
    unsigned shift = bucket / LATENCY_HALF - 1;
    return (uint64_t) (bucket - shift * LATENCY_HALF) << shift;
}

/* The highest value of the bucket in which the percentile falls, as HdrHistogram answers. */
static inline uint64_t latency_percentile(const struct latency_histogram *h, double percentile) {
    double exact = percentile / 100 * (double) h->total;
    uint64_t wanted = (uint64_t) exact;
    wanted += (double) wanted < exact;
    wanted = wanted == 0 ? 1 : wanted;
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        seen += h->counts[bucket];
        if (seen >= wanted) {
            return latency_lowest_of(bucket + 1) - 1;
        }
    }
    return h->max;
}

/* The buckets that are not empty, as JSON: [[lowest value, count], ...]. */
static inline void latency_print(const struct latency_histogram *h, FILE *out) {
    const char *separator = "";
    fputc('[', out);
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        if (h->counts[bucket] != 0) {
            fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", separator, latency_lowest_of(bucket), h->counts[bucket]);
            separator = ",";
        }
    }
    fputc(']', out);
}

#endif
