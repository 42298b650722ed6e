/* The protocol of page_server.h: 32 bytes ask for a page, and 16 bytes stand before it. */
#ifndef FARPAGE_SOURCE_PAGES_H
#define FARPAGE_SOURCE_PAGES_H

#include "page_source.h"

static inline size_t pages_ask(char *to, uint64_t page, uint64_t index, const struct options *o) {
    struct request request = {.page = page, .cookie = index, .length = (uint32_t) o->page_size, .operation = OP_FETCH};
    memcpy(to, &request, sizeof request);
    return sizeof request;
}

static inline size_t pages_park(char *to) {
    struct request request = {.operation = OP_PARK};
    memcpy(to, &request, sizeof request);
    return sizeof request;
}

/* The cookie comes first, and is any number. */
static inline struct text pages_begin(const struct options *o) {
    (void) o;
    return (struct text) {.length = 0};
}

static inline uint64_t pages_index(const char *header, uint64_t next) {
    struct reply reply;
    memcpy(&reply, header, sizeof reply);
    if (reply.cookie != next || reply.status != 0) {
        fail("reply %" PRIu64 ", status %u, to request %" PRIu64, reply.cookie, reply.status, next);
    }
    return next;
}

static const struct page_protocol pages_protocol = {.name = "the page server", .ask = pages_ask, .park = pages_park,
        .begins = pages_begin, .index = pages_index, .header = sizeof(struct reply)};

#endif
