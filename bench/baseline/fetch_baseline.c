/*
 * fetch_baseline: how fast plain C fetches pages from another process over TCP loopback. farpage's own figures are shown
 * as a ratio to these, taken in turns in the same run and on the same CPUs, because absolute times on shared machines mean
 * little.
 *
 * One process, forked from this one, holds the pages; this one asks with 32 bytes and gets 16 bytes and the page. Latency
 * is from just before the send to just after the last byte has come; content is checked after the clock has stopped.
 * There is no think time, so a stall delays the next request rather than being counted against those that would have been
 * sent meanwhile (coordinated omission): the same as in the runs it is compared with.
 */
#define _GNU_SOURCE

#define PROGRAM "fetch_baseline"

#include "figures.h"
#include "page_client.h"
#include "page_server.h"

static void print_measurement(const struct client *c, struct measurement m, const char *backing) {
    const struct options *o = c->options;
    char name[32];
    char placement[64];
    snprintf(name, sizeof name, "c-tcp-%s", mode_names[o->spin]);
    snprintf(placement, sizeof placement, "%s, client cpu %d, server cpu %d", mode_names[o->spin], o->client_cpu,
            o->server_cpu);
    print_figures(&(struct figures) {
            .name = name,
            .pattern = pattern_names[o->pattern],
            .placement = placement,
            .backing = backing,
            .page_size = o->page_size,
            .depth = o->depth,
            .count = m.count,
            .mismatches = c->mismatches,
            .elapsed_ns = m.elapsed_ns,
            .latencies = &c->latencies,
            .with_latencies = o->latencies});
}

static void measure(struct client *c, uint64_t count, uint64_t duration_ms, const char *backing) {
    if (c->options->warmup > 0) {
        fetch(c, c->options->warmup, 0);
    }
    struct measurement m = fetch(c, duration_ms == 0 ? count : UINT64_MAX / 2, duration_ms);
    park_server(c);
    print_measurement(c, m, backing);
}

static void obey(struct client *c, const char *backing) {
    char line[128];
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        size_t length = strlen(line);
        if (strcmp(line, "quit") == 0) {
            return;
        }
        if (strncmp(line, "run ", 4) != 0) {
            fail("'%s': must be 'run COUNT', 'run SECONDSs' or 'quit'", line);
        }
        if (line[length - 1] == 's') {
            line[length - 1] = '\0';
            measure(c, 0, (uint64_t) (1000 * parse_real("run", line + 4, 0.001, 86400)), backing);
        } else {
            measure(c, parse_number("run", line + 4, 1, UINT64_MAX / 2), 0, backing);
        }
    }
}

int main(int argc, char **argv) {
    static struct client client;
    struct options options = parse_options(argc, argv);
    struct page_memory memory = map_pages(&options);
    int fd = start_server(&options, memory);
    pin(options.client_cpu);
    schedule(options.priority);
    client_open(&client, &options, fd);
    if (options.interactive) {
        obey(&client, memory.backing);
    } else {
        measure(&client, options.count, options.duration_ms, memory.backing);
    }
    return 0;
}
