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

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "page_client.h"
#include "page_server.h"

static int listen_on_loopback(struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    *address = (struct sockaddr_in) {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *) address, length) != 0 || listen(fd, 1) != 0
            || getsockname(fd, (struct sockaddr *) address, &length) != 0) {
        fail("cannot listen on 127.0.0.1: %s", strerror(errno));
    }
    return fd;
}

/* Forks the server, which ends with this process, waits for it to fill its pages, and connects to it. */
static int start_server(const struct options *o, struct page_memory memory) {
    struct sockaddr_in address;
    int listening = listen_on_loopback(&address);
    int filled[2];
    if (pipe2(filled, O_CLOEXEC) != 0) {
        fail("pipe2: %s", strerror(errno));
    }
    pid_t parent = getpid();
    pid_t server = fork();
    if (server < 0) {
        fail("fork: %s", strerror(errno));
    }
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            exit(1);
        }
        close(filled[0]);
        serve(listening, filled[1], o, memory);
    }
    close(filled[1]);
    char byte;
    if (read(filled[0], &byte, 1) != 1) {
        fail("the server ended before its pages were filled");
    }
    close(filled[0]);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof address) != 0) {
        fail("cannot connect to 127.0.0.1:%u: %s", ntohs(address.sin_port), strerror(errno));
    }
    close(listening);
    configure_socket(fd);
    struct timeval patience = {.tv_sec = (time_t) (PATIENCE_NS / 1000000000)};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) {
        fail("setsockopt SO_RCVTIMEO: %s", strerror(errno));
    }
    return fd;
}

static void print_measurement(const struct client *c, struct measurement m, const char *backing) {
    const struct options *o = c->options;
    const struct latency_histogram *h = &c->latencies;
    double seconds = (double) m.elapsed_ns / 1e9;
    printf("{\"name\":\"c-tcp-%s\",\"transport\":\"tcp\",\"pageSize\":%" PRIu64 ",\"depth\":%" PRIu64
           ",\"pattern\":\"%s\",\"placement\":\"%s, client cpu %d, server cpu %d\",\"backing\":\"%s\"",
            mode_names[o->spin], o->page_size, o->depth, pattern_names[o->pattern], mode_names[o->spin],
            o->client_cpu, o->server_cpu, backing);
    printf(",\"count\":%" PRIu64 ",\"mismatches\":%" PRIu64 ",\"p50Ns\":%" PRIu64 ",\"p90Ns\":%" PRIu64
           ",\"p99Ns\":%" PRIu64 ",\"p999Ns\":%" PRIu64 ",\"maxNs\":%" PRIu64 ",\"elapsedNs\":%" PRIu64
           ",\"pagesPerSecond\":%.1f",
            m.count, c->mismatches, latency_percentile(h, 50), latency_percentile(h, 90), latency_percentile(h, 99),
            latency_percentile(h, 99.9), h->max, m.elapsed_ns, (double) m.count / seconds);
    if (o->latencies) {
        fputs(",\"latencies\":", stdout);
        latency_print(h, stdout);
    }
    puts("}");
    fflush(stdout);
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
    client_open(&client, &options, fd);
    if (options.interactive) {
        obey(&client, memory.backing);
    } else {
        measure(&client, options.count, options.duration_ms, memory.backing);
    }
    return 0;
}
