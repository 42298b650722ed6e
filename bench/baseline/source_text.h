/* What the text protocols of memcached and redis have in common: keys, and replies in the order of their requests. */
#ifndef FARPAGE_SOURCE_TEXT_H
#define FARPAGE_SOURCE_TEXT_H

#include "page_source.h"

enum { KEY_LENGTH = 16 };

/* The page's number in hexadecimal digits. */
static inline void put_key(char *to, uint64_t page) {
    for (int at = KEY_LENGTH - 1; at >= 0; at--, page >>= 4) {
        to[at] = "0123456789abcdef"[page & 15];
    }
}

static inline size_t put_text(char *to, const char *text) {
    size_t length = strlen(text);
    memcpy(to, text, length);
    return length;
}

static inline size_t put_request(char *to, const char *before, uint64_t page, const char *after) {
    size_t length = put_text(to, before);
    put_key(to + length, page);
    return length + KEY_LENGTH + put_text(to + length + KEY_LENGTH, after);
}

static inline struct text text_with_size(const char *format, const struct options *o) {
    struct text text;
    int length = snprintf(text.at, sizeof text.at, format, (int) o->page_size);
    text.length = (size_t) length;
    return text;
}

static inline uint64_t next_in_order(const char *header, uint64_t next) {
    (void) header;
    return next;
}

#endif
