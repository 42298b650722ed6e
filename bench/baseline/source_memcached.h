/* memcached's meta commands (protocol.txt of memcached 1.6): a key for each page. */
#ifndef FARPAGE_SOURCE_MEMCACHED_H
#define FARPAGE_SOURCE_MEMCACHED_H

#include "source_text.h"

static inline size_t memcached_ask(char *to, uint64_t page, uint64_t index, const struct options *o) {
    (void) index;
    (void) o;
    return put_request(to, "mg ", page, " v\r\n");
}

static inline size_t memcached_store(char *to, uint64_t page, const struct options *o) {
    struct text after = text_with_size(" %d\r\n", o);
    return put_request(to, "ms ", page, after.at);
}

static inline struct text memcached_begins(const struct options *o) {
    return text_with_size("VA %d\r\n", o);
}

/* The length of the header is that for 4096 bytes. */
static const struct page_protocol memcached_protocol = {.name = "memcached", .ask = memcached_ask, .store = memcached_store,
        .begins = memcached_begins, .index = next_in_order, .header = sizeof "VA 4096\r\n" - 1, .trailer = {"\r\n", 2},
        .stored = {"HD\r\n", 4}};

#endif
