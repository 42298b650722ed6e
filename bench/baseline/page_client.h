/*
 * The fetching process. At depth 1 each fetch is one send and one recv; beyond that, requests go out in batches with one
 * send, and whatever replies have come are taken with one recv into a ring as large as the window.
 */
#ifndef FARPAGE_PAGE_CLIENT_H
#define FARPAGE_PAGE_CLIENT_H

#include <sys/mman.h>

#include "latency_histogram.h"
#include "wire.h"

struct in_flight {
    uint64_t page;
    uint64_t sent_ns;
};

struct client {
    const struct options *options;
    int fd;
    struct page_numbers numbers;
    struct in_flight flights[MAX_DEPTH];
    struct request requests[MAX_DEPTH];
    char *ring; /* depth slots of header and page; replies come in the order of the requests */
    uint64_t mismatches;
    struct latency_histogram latencies;
};

struct measurement {
    uint64_t count;
    uint64_t elapsed_ns;
};

static inline void client_open(struct client *c, const struct options *o, int fd) {
    size_t slot = sizeof(struct reply) + o->page_size;
    c->options = o;
    c->fd = fd;
    page_numbers_init(&c->numbers, o->pattern, o->pages, o->seed, o->exponent);
    /* So placed that the page in the first slot is aligned as a frame would be. */
    char *memory = mmap(NULL, slot * o->depth + 2 * MIN_PAGE_SIZE, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        fail("mmap of the receive ring: %s", strerror(errno));
    }
    c->ring = memory + MIN_PAGE_SIZE - sizeof(struct reply);
}

static inline void check_reply(struct client *c, const char *slot, uint64_t page, uint64_t cookie) {
    const struct options *o = c->options;
    const struct reply *reply = (const struct reply *) slot;
    const uint64_t *words = (const uint64_t *) (slot + sizeof *reply);
    if (reply->cookie != cookie || reply->length != o->page_size || reply->status != 0) {
        fail("reply %" PRIu64 " of %u bytes, status %u, to request %" PRIu64, reply->cookie, reply->length,
                reply->status, cookie);
    }
    if (o->verify == VERIFY_ENDS) {
        c->mismatches += page_content_verify_ends(words, o->page_size, o->seed, page) >= 0;
    } else if (o->verify == VERIFY_FULL) {
        c->mismatches += page_content_verify(words, o->page_size, o->seed, page) >= 0;
    }
}

static inline size_t receive_some(struct client *c, char *to, size_t size, int blocking_flags) {
    size_t n = c->options->spin ? receive_spinning(c->fd, to, size)
                                : receive_blocking(c->fd, to, size, blocking_flags);
    if (n == 0) {
        fail("the server has closed the connection");
    }
    return n;
}

static inline void send_requests(struct client *c, size_t count) {
    struct iovec vector = {c->requests, count * sizeof *c->requests};
    send_all(c->fd, &vector, 1, c->options->spin);
}

static inline void prepare(struct client *c, struct request *r, uint64_t page, uint64_t cookie) {
    *r = (struct request) {
            .page = page, .cookie = cookie, .length = (uint32_t) c->options->page_size, .operation = OP_FETCH};
}

static inline bool time_is_up(uint64_t until_ns, uint64_t now) {
    return until_ns != 0 && now >= until_ns;
}

static inline struct measurement fetch_one_by_one(struct client *c, uint64_t count, uint64_t duration_ns) {
    size_t whole = sizeof(struct reply) + c->options->page_size;
    uint64_t started = now_ns();
    uint64_t until_ns = duration_ns == 0 ? 0 : started + duration_ns;
    uint64_t received = started;
    uint64_t done = 0;
    while (done < count && !time_is_up(until_ns, received)) {
        uint64_t page = page_numbers_next(&c->numbers);
        prepare(c, &c->requests[0], page, done);
        uint64_t sent = now_ns();
        send_requests(c, 1);
        for (size_t held = 0; held < whole;) {
            held += receive_some(c, c->ring + held, whole - held, MSG_WAITALL);
        }
        received = now_ns();
        latency_record(&c->latencies, received - sent);
        check_reply(c, c->ring, page, done);
        done++;
    }
    return (struct measurement) {done, received - started};
}

/* Takes every reply that is whole in the ring. */
static inline uint64_t take_replies(struct client *c, uint64_t taken, uint64_t bytes_received, uint64_t now) {
    size_t slot = sizeof(struct reply) + c->options->page_size;
    uint64_t depth = c->options->depth;
    for (; (taken + 1) * slot <= bytes_received; taken++) {
        uint64_t at = taken % depth;
        latency_record(&c->latencies, now - c->flights[at].sent_ns);
        check_reply(c, c->ring + at * slot, c->flights[at].page, taken);
    }
    return taken;
}

static inline struct measurement fetch_in_windows(struct client *c, uint64_t count, uint64_t duration_ns) {
    const struct options *o = c->options;
    size_t slot = sizeof(struct reply) + o->page_size;
    size_t ring_size = slot * o->depth;
    uint64_t sent = 0;
    uint64_t taken = 0;
    uint64_t bytes = 0;
    uint64_t started = now_ns();
    uint64_t until_ns = duration_ns == 0 ? 0 : started + duration_ns;
    uint64_t now = started;
    for (;;) {
        if (time_is_up(until_ns, now)) {
            count = sent;
        }
        uint64_t room = o->depth - (sent - taken);
        uint64_t ready = room < count - sent ? room : count - sent;
        if (ready > 0 && (room >= o->batch || ready == count - sent)) {
            for (uint64_t i = 0; i < ready; i++) {
                uint64_t page = page_numbers_next(&c->numbers);
                prepare(c, &c->requests[i], page, sent + i);
                c->flights[(sent + i) % o->depth].page = page;
            }
            now = now_ns();
            for (uint64_t i = 0; i < ready; i++) {
                c->flights[(sent + i) % o->depth].sent_ns = now;
            }
            send_requests(c, ready);
            sent += ready;
        }
        if (taken == sent) {
            return (struct measurement) {taken, now - started};
        }
        size_t at = bytes % ring_size;
        size_t expected = (size_t) (sent * slot - bytes);
        size_t to_end = ring_size - at;
        bytes += receive_some(c, c->ring + at, expected < to_end ? expected : to_end, 0);
        now = now_ns();
        taken = take_replies(c, taken, bytes, now);
    }
}

static inline struct measurement fetch(struct client *c, uint64_t count, uint64_t duration_ms) {
    latency_reset(&c->latencies);
    c->mismatches = 0;
    uint64_t duration_ns = duration_ms * 1000000;
    return c->options->depth == 1 ? fetch_one_by_one(c, count, duration_ns) : fetch_in_windows(c, count, duration_ns);
}

/* Lets the server sleep while nobody measures. */
static inline void park_server(struct client *c) {
    c->requests[0] = (struct request) {.operation = OP_PARK};
    send_requests(c, 1);
}

#endif
