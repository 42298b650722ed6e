/*
 * Pages that are fetched from a server by one of several protocols. A source is opened on a connection; then pages are requested,
 * several with one send if need be, and received one by one, each with one recv unless it comes in pieces.
 */
#ifndef FARPAGE_PAGE_SOURCE_H
#define FARPAGE_PAGE_SOURCE_H

#include <sys/mman.h>

#include "page_content.h"
#include "wire.h"

enum { MAX_REQUESTS = 64, MAX_REQUEST = 128, MAX_HEADER = 64, MAX_SAID = 80 };

struct text {
    char at[MAX_HEADER];
    size_t length;
};

/* How a server is asked. What a reply consists of has the same length for each page: header, page and trailer. */
struct page_protocol {
    const char *name;
    /* Agrees with the server; NULL if nothing has to be agreed. */
    void (*greet)(int fd, const struct options *o);
    /* Writes a request and returns its length. `index` is the number of the request among those that are sent together. */
    size_t (*ask)(char *to, uint64_t page, uint64_t index, const struct options *o);
    /* Writes what stands before a page that is stored; the trailer stands behind it. NULL if the server has its pages by itself. */
    size_t (*store)(char *to, uint64_t page, const struct options *o);
    /* Writes a request after which the server sleeps until the next one; NULL if it always sleeps. */
    size_t (*park)(char *to);
    /* How every right reply begins; may be shorter than the header. */
    struct text (*begins)(const struct options *o);
    /* The request that a reply belongs to. `next` is the one that is due if replies come in the order of their requests. */
    uint64_t (*index)(const char *header, uint64_t next);
    size_t header;
    struct text trailer;
    struct text stored; /* the reply to `store` */
};

struct page_source {
    const struct page_protocol *protocol;
    const struct options *options;
    int fd;
    struct text begins;
    char *reply; /* so placed that the page in it is aligned as a frame would be */
    uint64_t next;
};

struct page_arrival {
    uint64_t index;
    const char *content;
};

static inline size_t page_source_receive_some(struct page_source *s, char *to, size_t size) {
    size_t n = s->options->spin ? receive_spinning(s->fd, to, size) : receive_blocking(s->fd, to, size, MSG_WAITALL);
    if (n == 0) {
        fail("%s has closed the connection", s->protocol->name);
    }
    return n;
}

/* Ends with what the server said, as far as it has come. */
__attribute__((noreturn)) static inline void page_source_refuse(struct page_source *s, size_t held) {
    ssize_t more = held < MAX_SAID ? recv(s->fd, s->reply + held, MAX_SAID - held, MSG_DONTWAIT) : 0;
    size_t all = held + (more > 0 ? (size_t) more : 0);
    int line = 0;
    while (line < MAX_SAID && (size_t) line < all && s->reply[line] != '\r' && s->reply[line] != '\n') {
        line++;
    }
    fail("%s does not answer with a page, but with '%.*s'", s->protocol->name, line, s->reply);
}

/* A reply that begins otherwise is an error, and may be shorter. */
static inline void page_source_receive_reply(struct page_source *s, size_t size, struct text begins) {
    for (size_t held = 0; held < size;) {
        held += page_source_receive_some(s, s->reply + held, size - held);
        if (memcmp(s->reply, begins.at, held < begins.length ? held : begins.length) != 0) {
            page_source_refuse(s, held);
        }
    }
}

static inline void page_source_send(struct page_source *s, const char *bytes, size_t size) {
    struct iovec vector = {(char *) bytes, size};
    send_all(s->fd, &vector, 1, s->options->spin);
}

static inline void page_source_request(struct page_source *s, const uint64_t *pages, size_t count) {
    char requests[MAX_REQUESTS * MAX_REQUEST];
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += s->protocol->ask(requests + size, pages[i], i, s->options);
    }
    s->next = 0;
    page_source_send(s, requests, size);
}

/* The next page of those that were requested, in whichever order they come. Its content stays until the next call. */
static inline struct page_arrival page_source_receive(struct page_source *s) {
    size_t header = s->protocol->header;
    page_source_receive_reply(s, header + s->options->page_size + s->protocol->trailer.length, s->begins);
    return (struct page_arrival) {s->protocol->index(s->reply, s->next++), s->reply + header};
}

static inline void page_source_park(struct page_source *s) {
    char request[MAX_REQUEST];
    if (s->protocol->park != NULL) {
        page_source_send(s, request, s->protocol->park(request));
    }
}

/* Stores all pages, one by one. */
static inline void page_source_fill(struct page_source *s) {
    const struct options *o = s->options;
    const struct page_protocol *p = s->protocol;
    char head[MAX_REQUEST];
    uint64_t *content = malloc(o->page_size);
    if (content == NULL) {
        fail("no memory for a page");
    }
    for (uint64_t page = 0; page < o->pages; page++) {
        page_content_fill(content, o->page_size, o->seed, page);
        struct iovec vectors[3] = {{head, p->store(head, page, o)}, {content, o->page_size},
                {(char *) p->trailer.at, p->trailer.length}};
        send_all(s->fd, vectors, p->trailer.length > 0 ? 3 : 2, o->spin);
        page_source_receive_reply(s, p->stored.length, p->stored);
    }
    free(content);
}

static inline void page_source_open(
        struct page_source *s, const struct page_protocol *protocol, int fd, const struct options *o) {
    size_t whole = MIN_PAGE_SIZE + o->page_size + MAX_HEADER;
    char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        fail("mmap of a buffer for a page: %s", strerror(errno));
    }
    *s = (struct page_source) {.protocol = protocol, .options = o, .fd = fd, .begins = protocol->begins(o),
            .reply = memory + MIN_PAGE_SIZE - protocol->header};
    if (protocol->greet != NULL) {
        protocol->greet(fd, o);
    }
    if (protocol->store != NULL) {
        page_source_fill(s);
    }
}

#endif
