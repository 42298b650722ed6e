/*
 * Processes on several nodes that share the memory of a coherent space, each started with libfarpage-preload.so and the socket of its
 * node's agent. Each of them is given the same arguments but for its number.
 *
 *   coherent PAGES NODE NODES table OPERATIONS   adds to counters of a table with a lock for each bucket, and compares the sums
 *   coherent PAGES NODE NODES ring MESSAGES      sends messages to the next node, and receives those of the one before
 *   coherent PAGES NODE NODES sum ROUNDS         fills its part of the memory, and adds up all of it; NODES 1: alone
 *   coherent PAGES NODE NODES litmus NAME BATCHES   runs a litmus test, see tests below; the first two nodes have two threads each
 *
 * Prints one line of JSON. Ends with 1 if something is wrong.
 */
#define _GNU_SOURCE
#include "farpage.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_NODES 16
#define COUNTERS 60

/* The first pages; the others are each program's own. */
struct shared {
    struct farpage_barrier barrier;
    struct {
        _Alignas(FARPAGE_PAGE) uint64_t sum;
    } results[MAX_NODES];
    _Alignas(FARPAGE_PAGE) char rest[];
};

struct bucket {
    _Alignas(FARPAGE_PAGE) struct farpage_lock lock;
    uint64_t counters[COUNTERS];
};

static struct shared *shared;
static size_t pages;
static unsigned node, nodes;

static void fail(const char *what) {
    fprintf(stderr, "coherent: %s\n", what);
    exit(1);
}

static uint64_t number(const char *text, uint64_t least, uint64_t most) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "coherent: '%s' is not a number from %" PRIu64 " to %" PRIu64 "\n", text, least, most);
        exit(2);
    }
    return value;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

static uint64_t draw(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t rest_pages(void) {
    size_t used = sizeof *shared / FARPAGE_PAGE;
    if (pages <= used) {
        fail("too few pages");
    }
    return pages - used;
}

static void everyone(void) {
    farpage_barrier(&shared->barrier, nodes);
}

static int table(uint64_t operations) {
    struct bucket *buckets = (struct bucket *) shared->rest;
    size_t count = rest_pages();
    uint64_t state = 88172645463325252ULL + node, mine = 0;
    everyone();
    double began = now();
    for (uint64_t i = 0; i < operations; i++) {
        struct bucket *bucket = &buckets[draw(&state) % count];
        uint64_t *counter = &bucket->counters[draw(&state) % COUNTERS];
        uint64_t more = draw(&state) % 1000;
        farpage_lock(&bucket->lock);
        *counter += more;
        farpage_unlock(&bucket->lock);
        mine += more;
    }
    double took = now() - began;
    shared->results[node].sum = mine;
    everyone();
    uint64_t found = 0, expected = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < COUNTERS; j++) {
            found += buckets[i].counters[j];
        }
    }
    for (unsigned i = 0; i < nodes; i++) {
        expected += shared->results[i].sum;
    }
    everyone();
    printf("{\"operations\":%" PRIu64 ",\"found\":%" PRIu64 ",\"expected\":%" PRIu64 ",\"perSecond\":%.0f}\n",
           operations, found, expected, (double) operations / took);
    return found == expected ? 0 : 1;
}

static int ring(uint64_t messages) {
    struct farpage_ring *rings = (struct farpage_ring *) shared->rest;
    if (rest_pages() * FARPAGE_PAGE < nodes * sizeof *rings) {
        fail("too few pages");
    }
    struct farpage_ring *to = &rings[(node + 1) % nodes], *from = &rings[node];
    everyone();
    double began = now();
    uint64_t wrong = 0, sent = 0, received = 0;
    while (received < messages) {
        /* One more than was received: the message goes round. */
        if (sent < messages && sent <= received + 8) {
            uint64_t message[2] = {sent, node};
            farpage_send(to, message, sizeof message);
            sent++;
        } else {
            char bytes[FARPAGE_SLOT_BYTES];
            uint64_t message[2] = {0}, length = farpage_receive(from, bytes);
            memcpy(message, bytes, sizeof message);
            wrong += length != sizeof message || message[0] != received || message[1] != (node + nodes - 1) % nodes;
            received++;
        }
    }
    double took = now() - began;
    everyone();
    printf("{\"messages\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"perSecond\":%.0f}\n", received, wrong, (double) messages / took);
    return wrong == 0 ? 0 : 1;
}

static int sum(uint64_t rounds) {
    size_t count = rest_pages() / nodes * nodes, each = count / nodes;
    const size_t words = FARPAGE_PAGE / sizeof(uint64_t);
    uint64_t *data = (uint64_t *) shared->rest;
    for (size_t i = each * node * words; i < each * (node + 1) * words; i++) {
        data[i] = i;
    }
    everyone();
    double began = now();
    uint64_t mine = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = each * node * words; i < each * (node + 1) * words; i++) {
            mine += data[i];
        }
    }
    shared->results[node].sum = mine;
    everyone();
    double took = now() - began;
    uint64_t found = 0, last = (uint64_t) count * words;
    for (unsigned i = 0; i < nodes; i++) {
        found += shared->results[i].sum;
    }
    uint64_t expected = rounds * (last % 2 == 0 ? last / 2 * (last - 1) : (last - 1) / 2 * last);
    everyone();
    printf("{\"found\":%" PRIu64 ",\"expected\":%" PRIu64 ",\"seconds\":%.6f}\n", found, expected, took);
    return found == expected ? 0 : 1;
}

/*
 * Litmus tests. Each thread runs its part on one word of a page x and of a page y after the other, 512 times in a batch; batches begin
 * together. What the threads have loaded is compared with what x86-TSO forbids (Owens, Sarkar, Sewell: A better x86 memory model: x86-TSO,
 * 2009; Sewell and others: x86-TSO, CACM 2010).
 */
#define WORDS (FARPAGE_PAGE / sizeof(uint64_t))
#define THREADS 4

struct cells {
    _Alignas(FARPAGE_PAGE) _Atomic uint64_t x[WORDS];
    _Alignas(FARPAGE_PAGE) _Atomic uint64_t y[WORDS];
    struct {
        _Alignas(FARPAGE_PAGE) uint16_t first[WORDS];
        uint16_t second[WORDS];
    } loaded[THREADS];
};

/* x86 loads and stores: relaxed ones are plain MOVs, which the compiler must not reorder either. */
#define LOAD(word) ({uint64_t value_ = atomic_load_explicit(&(word), memory_order_relaxed); atomic_signal_fence(memory_order_seq_cst); value_;})
#define STORE(word, value) do {atomic_store_explicit(&(word), value, memory_order_relaxed); atomic_signal_fence(memory_order_seq_cst);} while (0)

typedef void part(struct cells *c, size_t i, uint64_t *first, uint64_t *second);

#define PART(name) static void name(struct cells *c, size_t i, uint64_t *first, uint64_t *second)
#define UNUSED (void) first, (void) second

PART(x1_then_y) { UNUSED; STORE(c->x[i], 1); *first = LOAD(c->y[i]); }
PART(y1_then_x) { UNUSED; STORE(c->y[i], 1); *first = LOAD(c->x[i]); }
PART(x1_fence_y) { UNUSED; STORE(c->x[i], 1); atomic_thread_fence(memory_order_seq_cst); *first = LOAD(c->y[i]); }
PART(y1_fence_x) { UNUSED; STORE(c->y[i], 1); atomic_thread_fence(memory_order_seq_cst); *first = LOAD(c->x[i]); }
PART(x1_y1) { UNUSED; STORE(c->x[i], 1); STORE(c->y[i], 1); }
PART(loads_y_x) { *first = LOAD(c->y[i]); *second = LOAD(c->x[i]); }
PART(loads_x_y) { *first = LOAD(c->x[i]); *second = LOAD(c->y[i]); }
PART(loads_x_x) { *first = LOAD(c->x[i]); *second = LOAD(c->x[i]); }
PART(y_then_x1) { UNUSED; *first = LOAD(c->y[i]); STORE(c->x[i], 1); }
PART(x_then_y1) { UNUSED; *first = LOAD(c->x[i]); STORE(c->y[i], 1); }
PART(x2_y1) { UNUSED; STORE(c->x[i], 2); STORE(c->y[i], 1); }
PART(y2_x1) { UNUSED; STORE(c->y[i], 2); STORE(c->x[i], 1); }
PART(y2_then_x) { UNUSED; STORE(c->y[i], 2); *first = LOAD(c->x[i]); }
PART(x1_only) { UNUSED; STORE(c->x[i], 1); }
PART(y1_only) { UNUSED; STORE(c->y[i], 1); }
PART(x1_x2) { UNUSED; STORE(c->x[i], 1); STORE(c->x[i], 2); }
PART(y_then_x1_after_x2) { UNUSED; *first = LOAD(c->y[i]); STORE(c->x[i], 1); }

/* What a batch has shown of one word: loads of each thread, and what x and y are at the end. */
struct outcome {
    uint64_t first[THREADS], second[THREADS], x, y;
};

static bool zeros_both(const struct outcome *o) { return o->first[0] == 0 && o->first[1] == 0; }
static bool ones_both(const struct outcome *o) { return o->first[0] == 1 && o->first[1] == 1; }
static bool late_first(const struct outcome *o) { return o->first[1] == 1 && o->second[1] == 0; }
static bool crossed_stores(const struct outcome *o) { return o->x == 2 && o->y == 2; }
static bool disagree(const struct outcome *o) {
    return o->first[1] == 1 && o->second[1] == 0 && o->first[3] == 1 && o->second[3] == 0;
}
static bool backwards(const struct outcome *o) { return o->first[1] == 1 && o->second[1] == 0; }
static bool first_store_last(const struct outcome *o) { return o->x == 1; }
static bool s_forbidden(const struct outcome *o) { return o->first[1] == 1 && o->x == 2; }
static bool r_relaxed(const struct outcome *o) { return o->y == 2 && o->first[1] == 0; }

static const struct test {
    const char *name;
    unsigned threads;
    part *parts[THREADS];
    bool (*outcome)(const struct outcome *);
    bool allowed;
} tests[] = {
    {"SB", 2, {x1_then_y, y1_then_x}, zeros_both, true},
    {"SB+mfence", 2, {x1_fence_y, y1_fence_x}, zeros_both, false},
    {"MP", 2, {x1_y1, loads_y_x}, late_first, false},
    {"LB", 2, {y_then_x1, x_then_y1}, ones_both, false},
    {"2+2W", 2, {x2_y1, y2_x1}, crossed_stores, false},
    {"IRIW", 4, {x1_only, loads_x_y, y1_only, loads_y_x}, disagree, false},
    {"S", 2, {x2_y1, y_then_x1_after_x2}, s_forbidden, false},
    {"R", 2, {x1_y1, y2_then_x}, r_relaxed, true},
    {"CoRR", 2, {x1_only, loads_x_x}, backwards, false},
    {"CoWW", 1, {x1_x2}, first_store_last, false},
};

static const struct test *chosen;
static uint64_t batches;
static struct cells *cells;
static atomic_size_t reached[THREADS];

/* On one host threads come to each word together, as far as they run at the same time: the window of a store buffer is short. */
static void meet(unsigned thread, size_t i) {
    atomic_store(&reached[thread], i);
    for (unsigned other = 0; nodes == 1 && other < chosen->threads; other++) {
        for (unsigned spins = 0; spins < 2000 && atomic_load(&reached[other]) < i; spins++) {
        }
    }
}

static void *run(void *argument) {
    unsigned thread = (unsigned) (uintptr_t) argument;
    for (uint64_t batch = 0; batch < batches; batch++) {
        farpage_barrier(&shared->barrier, chosen->threads);
        for (size_t i = 0; i < WORDS; i++) {
            uint64_t first = 0, second = 0;
            meet(thread, batch * WORDS + i);
            chosen->parts[thread](cells, i, &first, &second);
            cells->loaded[thread].first[i] = (uint16_t) first;
            cells->loaded[thread].second[i] = (uint16_t) second;
        }
        farpage_barrier(&shared->barrier, chosen->threads);
        if (thread == 0) {
            for (size_t i = 0; i < WORDS; i++) {
                struct outcome outcome = {.x = cells->x[i], .y = cells->y[i]};
                for (unsigned j = 0; j < THREADS; j++) {
                    outcome.first[j] = cells->loaded[j].first[i];
                    outcome.second[j] = cells->loaded[j].second[i];
                }
                shared->results[0].sum += chosen->outcome(&outcome);
            }
            for (size_t i = 0; i < WORDS; i++) {
                cells->x[i] = 0;
                cells->y[i] = 0;
            }
        }
        farpage_barrier(&shared->barrier, chosen->threads);
    }
    return NULL;
}

static atomic_bool done;

/* Touches the pages that the test does not use, so that those that it uses are evicted time and again. */
static void *churn(void *unused) {
    (void) unused;
    size_t first = sizeof *cells / FARPAGE_PAGE, count = rest_pages() - first;
    for (uint64_t random = node + 1; !atomic_load(&done);) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        volatile uint64_t *word = (volatile uint64_t *) (shared->rest + (first + (random >> 33) % count) * FARPAGE_PAGE);
        if (random >> 62 == 0) {
            *word = random;
        } else {
            (void) *word;
        }
        nanosleep(&(const struct timespec) {.tv_nsec = 100000}, NULL);
    }
    return NULL;
}

/* Threads are dealt to the nodes in turn; with nodes 1 all are on it. */
static int litmus(const char *name, uint64_t count) {
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (strcmp(tests[i].name, name) == 0) {
            chosen = &tests[i];
        }
    }
    if (chosen == NULL) {
        fail("no litmus test of that name");
    }
    if (rest_pages() < sizeof *cells / FARPAGE_PAGE) {
        fail("too few pages");
    }
    cells = (struct cells *) shared->rest;
    batches = count;
    pthread_t threads[THREADS], churning;
    bool churns = rest_pages() > sizeof *cells / FARPAGE_PAGE;
    if (churns && pthread_create(&churning, NULL, churn, NULL) != 0) {
        fail("pthread_create");
    }
    for (unsigned i = node; i < chosen->threads; i += nodes) {
        if (pthread_create(&threads[i], NULL, run, (void *) (uintptr_t) i) != 0) {
            fail("pthread_create");
        }
    }
    for (unsigned i = node; i < chosen->threads; i += nodes) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&done, true);
    if (churns) {
        pthread_join(churning, NULL);
    }
    uint64_t seen = shared->results[0].sum;
    if (node == 0) {
        printf("{\"test\":\"%s\",\"runs\":%" PRIu64 ",\"allowed\":%s,\"seen\":%" PRIu64 "}\n",
               name, batches * WORDS, chosen->allowed ? "true" : "false", seen);
        return seen > 0 && !chosen->allowed ? 1 : 0;
    }
    return 0;
}

int main(int count, char **arguments) {
    if (count < 6) {
        fail("usage: coherent PAGES NODE NODES table|ring|sum NUMBER, or litmus NAME BATCHES");
    }
    pages = number(arguments[1], 1, 1u << 28);
    nodes = (unsigned) number(arguments[3], 1, MAX_NODES);
    node = (unsigned) number(arguments[2], 0, nodes - 1);
    int memory = memfd_create("coherent", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, (off_t) (pages * FARPAGE_PAGE)) != 0) {
        fail("memfd_create or ftruncate");
    }
    shared = mmap(NULL, pages * FARPAGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (shared == MAP_FAILED) {
        fail("mmap");
    }
    const char *what = arguments[4];
    if (strcmp(what, "litmus") == 0 && count > 6) {
        return litmus(arguments[5], number(arguments[6], 1, UINT64_MAX));
    }
    uint64_t times = number(arguments[5], 1, UINT64_MAX);
    return strcmp(what, "table") == 0 ? table(times) : strcmp(what, "ring") == 0 ? ring(times) : sum(times);
}
