/*
 * Which page is fetched next. The same numbers in the same order as io.farpage.bench.pattern makes from the same seed, so
 * that the baseline and farpage walk the same pages; a test holds random and sequential equal.
 */
#ifndef FARPAGE_PAGE_NUMBERS_H
#define FARPAGE_PAGE_NUMBERS_H

#include <math.h>
#include <stdint.h>

#include "page_content.h"

enum page_pattern { PATTERN_RANDOM, PATTERN_SEQUENTIAL, PATTERN_ZIPF };

struct page_numbers {
    enum page_pattern pattern;
    uint64_t pages;
    uint64_t state;  /* xorshift64*: never zero */
    uint64_t next;   /* sequential */
    double exponent; /* zipf from here on */
    double integral_of_first;
    double integral_of_last;
    double shortcut;
    uint64_t stride;
};

static inline uint64_t xorshift64star(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1dull;
}

/* log1p(x) / x and expm1(x) / x, continued through zero. */
static inline double log1p_over(double x) {
    return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x * (0.5 - x * (1.0 / 3 - x * 0.25));
}

static inline double expm1_over(double x) {
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x * 0.5 * (1 + x * (1.0 / 3) * (1 + x * 0.25));
}

/* h(x) = x^-exponent, its integral and the inverse of that. */
static inline double zipf_density(double exponent, double x) {
    return exp(-exponent * log(x));
}

static inline double zipf_integral(double exponent, double x) {
    double log_x = log(x);
    return expm1_over((1 - exponent) * log_x) * log_x;
}

static inline double zipf_integral_inverse(double exponent, double y) {
    double t = y * (1 - exponent);
    return exp(log1p_over(t < -1 ? -1 : t) * y);
}

static inline uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static inline void page_numbers_init(
        struct page_numbers *n, enum page_pattern pattern, uint64_t pages, uint64_t seed, double exponent) {
    n->pattern = pattern;
    n->pages = pages;
    n->state = page_content_mix(seed + PAGE_CONTENT_GOLDEN);
    if (n->state == 0) {
        n->state = PAGE_CONTENT_GOLDEN;
    }
    n->next = 0;
    n->exponent = exponent;
    n->integral_of_first = zipf_integral(exponent, 1.5) - 1;
    n->integral_of_last = zipf_integral(exponent, (double) pages + 0.5);
    n->shortcut = 2 - zipf_integral_inverse(exponent, zipf_integral(exponent, 2.5) - zipf_density(exponent, 2));
    /* Popular pages are spread over the space: rank r is page r * stride mod pages, a permutation. */
    n->stride = (uint64_t) ((double) pages * 0.6180339887498949) | 1;
    while (greatest_common_divisor(n->stride, pages) != 1) {
        n->stride += 2;
    }
}

/* Zipf by rejection-inversion (Hörmann and Derflinger, 1996): no table, whatever the number of pages. */
static inline uint64_t zipf_rank(struct page_numbers *n) {
    for (;;) {
        double unit = (double) (xorshift64star(&n->state) >> 11) * 0x1.0p-53;
        double u = n->integral_of_last + unit * (n->integral_of_first - n->integral_of_last);
        double x = zipf_integral_inverse(n->exponent, u);
        double rank = floor(x + 0.5);
        rank = rank < 1 ? 1 : rank > (double) n->pages ? (double) n->pages : rank;
        if (rank - x <= n->shortcut
            || u >= zipf_integral(n->exponent, rank + 0.5) - zipf_density(n->exponent, rank)) {
            return (uint64_t) rank - 1;
        }
    }
}

static inline uint64_t page_numbers_next(struct page_numbers *n) {
    switch (n->pattern) {
        case PATTERN_SEQUENTIAL: {
            uint64_t page = n->next;
            n->next = page + 1 == n->pages ? 0 : page + 1;
            return page;
        }
        case PATTERN_ZIPF:
            return zipf_rank(n) * n->stride % n->pages;
        case PATTERN_RANDOM:
        default:
            return (uint64_t) (((unsigned __int128) xorshift64star(&n->state) * n->pages) >> 64);
    }
}

#endif
