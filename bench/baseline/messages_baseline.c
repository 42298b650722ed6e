/*
 * messages_baseline MODE COUNT ASKER_CPU ANSWERER_CPU PRIORITY: how long plain C takes for 64 bytes one way and 4160
 * bytes back between two processes over TCP loopback. It is the ping-pong that page-bench messages measures between two
 * shards, and what page-bench coherent compares faults with. PRIORITY: as --priority of fetch_baseline.
 */
#define _GNU_SOURCE

#define PROGRAM "messages_baseline"

#include <signal.h>
#include <sys/prctl.h>

#include "figures.h"
#include "wire.h"

enum { ASKED = 64, ANSWERED = 64 + 4096 };

static void receive_all(int fd, char *to, size_t size, bool spin) {
    for (size_t come = 0; come < size;) {
        size_t n = spin ? receive_spinning(fd, to + come, size - come) : receive_blocking(fd, to + come, size - come, 0);
        if (n == 0) {
            exit(come == 0 ? 0 : 1);
        }
        come += n;
    }
}

static void send_bytes(int fd, char *from, size_t size, bool spin) {
    struct iovec whole = {.iov_base = from, .iov_len = size};
    send_all(fd, &whole, 1, spin);
}

static void answer(int listener, bool spin, int cpu) {
    static char asked[ASKED];
    static char answered[ANSWERED];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(cpu);
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) {
        fail("accept: %s", strerror(errno));
    }
    configure_socket(fd);
    for (;;) {
        receive_all(fd, asked, ASKED, spin);
        memcpy(answered, asked, ASKED);
        send_bytes(fd, answered, ANSWERED, spin);
    }
}

static void ask(int fd, uint64_t count, bool spin, struct latency_histogram *latencies) {
    static char asked[ASKED];
    static char answered[ANSWERED];
    for (uint64_t i = 0; i < count; i++) {
        memcpy(asked, &i, sizeof i);
        uint64_t started = now_ns();
        send_bytes(fd, asked, ASKED, spin);
        receive_all(fd, answered, ANSWERED, spin);
        latency_record(latencies, now_ns() - started);
        if (memcmp(asked, answered, ASKED) != 0) {
            fail("answer %" PRIu64 " is not to what was asked", i);
        }
    }
}

int main(int argc, char **argv) {
    static struct latency_histogram latencies;
    if (argc != 6) {
        fail("wants block or spin, how many messages, the CPUs of both sides, and their priority");
    }
    bool spin = parse_choice("MODE", argv[1], mode_names) == 1;
    uint64_t count = parse_number("COUNT", argv[2], 1, 1ull << 40);
    int asker = (int) parse_number("ASKER_CPU", argv[3], 0, CPU_SETSIZE - 1);
    int answerer = (int) parse_number("ANSWERER_CPU", argv[4], 0, CPU_SETSIZE - 1);
    int priority = (int) parse_number("PRIORITY", argv[5], 0, 99);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *) &address, length) != 0 || listen(listener, 1) != 0
            || getsockname(listener, (struct sockaddr *) &address, &length) != 0) {
        fail("cannot listen on 127.0.0.1: %s", strerror(errno));
    }
    schedule(priority);
    pid_t child = fork();
    if (child < 0) {
        fail("fork: %s", strerror(errno));
    }
    if (child == 0) {
        answer(listener, spin, answerer);
    }
    close(listener);
    pin(asker);
    int fd = connect_to_port(ntohs(address.sin_port));
    ask(fd, count / 10 + 1, spin, &latencies);
    latency_reset(&latencies);
    uint64_t started = now_ns();
    ask(fd, count, spin, &latencies);
    uint64_t elapsed = now_ns() - started;
    char placement[64];
    snprintf(placement, sizeof placement, "asker cpu %d, answerer cpu %d", asker, answerer);
    print_figures(&(struct figures) {
            .name = "c-messages",
            .pattern = "sequential",
            .placement = placement,
            .backing = "none",
            .page_size = ANSWERED,
            .depth = 1,
            .count = count,
            .elapsed_ns = elapsed,
            .scheduling = scheduling_of_thread(),
            .latencies = &latencies,
            .with_latencies = true});
    return 0;
}
