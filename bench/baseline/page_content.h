/*
 * What a benchmark page holds: a function of a seed and the page's number, so that whoever fetches it can tell every
 * byte without having seen it before. The Java twin is io.farpage.bench.content.PageContent; a test holds them equal.
 *
 *   origin(seed, page) = mix(mix(seed) + (page + 1) * GOLDEN)
 *   x(i)               = origin + i * GOLDEN
 *   word(i)            = x(i) ^ (x(i) >> 32)             64 bits, stored little endian at byte 8 * i
 *
 * All arithmetic is modulo 2^64; mix is the finaliser of SplitMix64. Within one page no word repeats, and for one seed no
 * two pages start alike: a page from elsewhere, a shifted one or a torn one shows. Only the origin is mixed with
 * multiplications, because a check that vectorises to add, shift and xor keeps up with memory.
 */
#ifndef FARPAGE_PAGE_CONTENT_H
#define FARPAGE_PAGE_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "page content is defined in little endian; this machine would need byte swaps"
#endif

#define PAGE_CONTENT_GOLDEN 0x9e3779b97f4a7c15ull

static inline uint64_t page_content_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline uint64_t page_content_origin(uint64_t seed, uint64_t page) {
    return page_content_mix(page_content_mix(seed) + (page + 1) * PAGE_CONTENT_GOLDEN);
}

static inline uint64_t page_content_word(uint64_t origin, uint64_t index) {
    uint64_t x = origin + index * PAGE_CONTENT_GOLDEN;
    return x ^ (x >> 32);
}

static inline void page_content_fill(uint64_t *words, size_t bytes, uint64_t seed, uint64_t page) {
    uint64_t origin = page_content_origin(seed, page);
    for (size_t i = 0; i < bytes / 8; i++) {
        words[i] = page_content_word(origin, i);
    }
}

/* The offset of the first byte of the first word that is wrong, or -1. */
static inline long page_content_verify(const uint64_t *words, size_t bytes, uint64_t seed, uint64_t page) {
    uint64_t origin = page_content_origin(seed, page);
    uint64_t wrong = 0;
    for (size_t i = 0; i < bytes / 8; i++) {
        wrong |= words[i] ^ page_content_word(origin, i);
    }
    for (size_t i = 0; wrong != 0 && i < bytes / 8; i++) {
        if (words[i] != page_content_word(origin, i)) {
            return (long) (8 * i);
        }
    }
    return -1;
}

/* As page_content_verify, but looks at the first and the last word only. */
static inline long page_content_verify_ends(const uint64_t *words, size_t bytes, uint64_t seed, uint64_t page) {
    uint64_t origin = page_content_origin(seed, page);
    size_t last = bytes / 8 - 1;
    if (words[0] != page_content_word(origin, 0)) {
        return 0;
    }
    return words[last] == page_content_word(origin, last) ? -1 : (long) (8 * last);
}

#endif
