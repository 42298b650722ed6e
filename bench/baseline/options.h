/* The command line of PROGRAM, which the including file defines: parsed once, checked whole, every error naming the value and what is allowed. */
#ifndef FARPAGE_OPTIONS_H
#define FARPAGE_OPTIONS_H

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page_numbers.h"

enum { MIN_PAGE_SIZE = 4096, MAX_PAGE_SIZE = 2 << 20, MAX_DEPTH = 1024 };

enum verification { VERIFY_NONE, VERIFY_ENDS, VERIFY_FULL };

struct options {
    bool spin;
    bool interactive;
    bool hugepages;
    bool latencies;
    enum page_pattern pattern;
    enum verification verify;
    int client_cpu;
    int server_cpu;
    int priority;
    uint64_t depth;
    uint64_t batch;
    uint64_t page_size;
    uint64_t pages;
    uint64_t count;
    uint64_t duration_ms;
    uint64_t warmup;
    uint64_t seed;
    double exponent;
};

static const char *const pattern_names[] = {"random", "sequential", "zipf", NULL};
static const char *const verify_names[] = {"none", "ends", "full", NULL};
static const char *const mode_names[] = {"block", "spin", NULL};

__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs(PROGRAM ": ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static inline void usage(FILE *out) {
    fputs("usage: " PROGRAM " [options]\n"
          "Fetches pages over TCP loopback from a second process and prints one line of JSON.\n"
          "  --mode spin|block       spin: each side busy on its own CPU; block: both sleep, on one CPU (spin)\n"
          "  --depth N               requests outstanding, 1 to 1024 (1)\n"
          "  --batch N               requests sent together when depth > 1, 1 to depth (half the depth)\n"
          "  --page-size BYTES       4096 to 2097152, a power of two (4096)\n"
          "  --pages N               pages that the server holds (65536)\n"
          "  --pattern random|sequential|zipf   (random)\n"
          "  --zipf-exponent X       0.01 to 10 (0.99)\n"
          "  --count N               fetches to measure (100000)\n"
          "  --duration SECONDS      measure for this long instead of --count\n"
          "  --warmup N              fetches before each measurement, not recorded (10000)\n"
          "  --verify none|ends|full what to check of each page's content (ends)\n"
          "  --client-cpu N, --server-cpu N     (the first CPUs allowed)\n"
          "  --priority N            real-time priority (SCHED_FIFO) of both sides, or short slices where it is not permitted; 0: none (0)\n"
          "  --hugepages             back the served memory with huge pages where there are any\n"
          "  --seed N                of page content and page numbers (1)\n"
          "  --latencies             add the histogram to the JSON, as [[lowest ns, count], ...]\n"
          "  --interactive           print 'ready', then obey lines: 'run COUNT', 'run SECONDSs', 'quit'\n",
            out);
}

static inline uint64_t parse_number(const char *name, const char *text, uint64_t least, uint64_t most) {
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < least || value > most) {
        fail("%s %s: must be a whole number from %" PRIu64 " to %" PRIu64, name, text, least, most);
    }
    return value;
}

static inline double parse_real(const char *name, const char *text, double least, double most) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most)) {
        fail("%s %s: must be a number from %g to %g", name, text, least, most);
    }
    return value;
}

static inline int parse_choice(const char *name, const char *text, const char *const *choices) {
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(text, choices[i]) == 0) {
            return i;
        }
    }
    fprintf(stderr, PROGRAM ": %s %s: must be one of", name, text);
    for (int i = 0; choices[i] != NULL; i++) {
        fprintf(stderr, " %s", choices[i]);
    }
    fputc('\n', stderr);
    exit(1);
}

/* Fills in the CPUs that were not given, and refuses what the chosen mode cannot measure fairly. */
static inline void place(struct options *o) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        fail("sched_getaffinity: %s", strerror(errno));
    }
    if (!o->spin && o->client_cpu < 0) {
        o->client_cpu = o->server_cpu;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && o->client_cpu < 0; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && cpu != o->server_cpu) {
            o->client_cpu = cpu;
        }
    }
    if (!o->spin && o->server_cpu < 0) {
        o->server_cpu = o->client_cpu;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && o->server_cpu < 0; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && cpu != o->client_cpu) {
            o->server_cpu = cpu;
        }
    }
    if (o->client_cpu < 0 || o->server_cpu < 0 || (o->spin && o->client_cpu == o->server_cpu)) {
        fail("--mode spin: needs two CPUs, one for each side; use --mode block, or allow this process a second CPU");
    }
    if (!CPU_ISSET(o->client_cpu, &allowed) || !CPU_ISSET(o->server_cpu, &allowed)) {
        fail("--client-cpu %d --server-cpu %d: not both among the CPUs this process may use; see taskset -p $$",
                o->client_cpu, o->server_cpu);
    }
}

static inline struct options parse_options(int argc, char **argv) {
    static const struct option known[] = {
            {"mode", required_argument, NULL, 'm'},       {"depth", required_argument, NULL, 'd'},
            {"batch", required_argument, NULL, 'b'},      {"page-size", required_argument, NULL, 'z'},
            {"pages", required_argument, NULL, 'n'},      {"pattern", required_argument, NULL, 'p'},
            {"zipf-exponent", required_argument, NULL, 'x'}, {"count", required_argument, NULL, 'c'},
            {"duration", required_argument, NULL, 't'},   {"warmup", required_argument, NULL, 'w'},
            {"verify", required_argument, NULL, 'v'},     {"client-cpu", required_argument, NULL, 'C'},
            {"server-cpu", required_argument, NULL, 'S'}, {"hugepages", no_argument, NULL, 'H'},
            {"priority", required_argument, NULL, 'P'},
            {"seed", required_argument, NULL, 's'},       {"latencies", no_argument, NULL, 'l'},
            {"interactive", no_argument, NULL, 'i'},      {"help", no_argument, NULL, 'h'},
            {NULL, 0, NULL, 0}};
    struct options o = {.spin = true, .verify = VERIFY_ENDS, .client_cpu = -1, .server_cpu = -1, .depth = 1,
            .page_size = MIN_PAGE_SIZE, .pages = 65536, .count = 100000, .warmup = 10000, .seed = 1, .exponent = 0.99};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
            case 'm': o.spin = parse_choice("--mode", optarg, mode_names) == 1; break;
            case 'd': o.depth = parse_number("--depth", optarg, 1, MAX_DEPTH); break;
            case 'b': o.batch = parse_number("--batch", optarg, 1, MAX_DEPTH); break;
            case 'z': o.page_size = parse_number("--page-size", optarg, MIN_PAGE_SIZE, MAX_PAGE_SIZE); break;
            case 'n': o.pages = parse_number("--pages", optarg, 1, 1ull << 31); break;
            case 'p': o.pattern = (enum page_pattern) parse_choice("--pattern", optarg, pattern_names); break;
            case 'x': o.exponent = parse_real("--zipf-exponent", optarg, 0.01, 10); break;
            case 'c': o.count = parse_number("--count", optarg, 1, UINT64_MAX / 2); break;
            case 't': o.duration_ms = (uint64_t) (1000 * parse_real("--duration", optarg, 0.001, 86400)); break;
            case 'w': o.warmup = parse_number("--warmup", optarg, 0, UINT32_MAX); break;
            case 'v': o.verify = (enum verification) parse_choice("--verify", optarg, verify_names); break;
            case 'C': o.client_cpu = (int) parse_number("--client-cpu", optarg, 0, CPU_SETSIZE - 1); break;
            case 'S': o.server_cpu = (int) parse_number("--server-cpu", optarg, 0, CPU_SETSIZE - 1); break;
            case 'P': o.priority = (int) parse_number("--priority", optarg, 0, 99); break;
            case 'H': o.hugepages = true; break;
            case 's': o.seed = parse_number("--seed", optarg, 0, UINT64_MAX); break;
            case 'l': o.latencies = true; break;
            case 'i': o.interactive = true; break;
            case 'h': usage(stdout); exit(0);
            default: usage(stderr); exit(1);
        }
    }
    if (optind != argc) {
        fail("%s: not an option; see --help", argv[optind]);
    }
    if ((o.page_size & (o.page_size - 1)) != 0) {
        fail("--page-size %" PRIu64 ": must be a power of two", o.page_size);
    }
    if (o.batch == 0) {
        o.batch = (o.depth + 1) / 2;
    }
    if (o.batch > o.depth) {
        fail("--batch %" PRIu64 ": must be at most the depth, %" PRIu64, o.batch, o.depth);
    }
    place(&o);
    return o;
}

#endif
