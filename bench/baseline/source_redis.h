/* redis: GET of a string for each page (RESP2, redis.io/docs/reference/protocol-spec). */
#ifndef FARPAGE_SOURCE_REDIS_H
#define FARPAGE_SOURCE_REDIS_H

#include "source_text.h"

static inline size_t redis_ask(char *to, uint64_t page, uint64_t index, const struct options *o) {
    (void) index;
    (void) o;
    return put_request(to, "*2\r\n$3\r\nGET\r\n$16\r\n", page, "\r\n");
}

static inline size_t redis_store(char *to, uint64_t page, const struct options *o) {
    struct text after = text_with_size("\r\n$%d\r\n", o);
    return put_request(to, "*3\r\n$3\r\nSET\r\n$16\r\n", page, after.at);
}

static inline struct text redis_begins(const struct options *o) {
    return text_with_size("$%d\r\n", o);
}

/* The length of the header is that for 4096 bytes. */
static const struct page_protocol redis_protocol = {.name = "redis", .ask = redis_ask, .store = redis_store,
        .begins = redis_begins, .index = next_in_order, .header = sizeof "$4096\r\n" - 1, .trailer = {"\r\n", 2},
        .stored = {"+OK\r\n", 5}};

#endif
