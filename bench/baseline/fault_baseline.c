/*
 * fault_baseline: how fast plain C resolves page faults of another process (fault_toucher) with pages that it fetches over TCP
 * loopback: read the fault, ask with 32 bytes, receive 16 bytes and the page, UFFDIO_COPY. farpage's agent goes the same way, on
 * the same CPUs, for the same toucher.
 *
 *   fault_baseline SOCKET [options of fetch_baseline]
 *
 * Says 'ready', serves one toucher after another, and ends with its standard input. Nobody being served, all of it sleeps.
 */
#define _GNU_SOURCE
#define PROGRAM "fault_baseline"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "handoff.h"
#include "page_client.h"
#include "page_server.h"

enum { MESSAGES = 64, LOOKS_BETWEEN_HANG_UPS = 1 << 14 };

static bool has_hung_up(const struct guest *guest) {
    char byte;
    return recv(guest->connection, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Waits for a fault as the mode says; false when the toucher is gone. */
static bool await_fault(const struct client *c, const struct guest *guest, unsigned *looks) {
    if (c->options->spin) {
        return ++*looks % LOOKS_BETWEEN_HANG_UPS != 0 || !has_hung_up(guest);
    }
    struct pollfd fds[2] = {{guest->uffd, POLLIN, 0}, {guest->connection, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) {
        fail("poll: %s", strerror(errno));
    }
    return fds[1].revents == 0 || !has_hung_up(guest);
}

/* As an agent does that may have to evict: a page of a memfd is installed write-protected, to learn whether it is written. */
static void install(const struct guest *guest, uint64_t page, const char *content, uint64_t page_size) {
    struct uffdio_copy copy = {.dst = guest->base + page * page_size, .src = (uintptr_t) content, .len = page_size,
            .mode = guest->file < 0 ? 0 : UFFDIO_COPY_MODE_WP};
    while (ioctl(guest->uffd, UFFDIO_COPY, &copy) != 0) {
        if (errno == ESRCH) {
            return;
        }
        if (errno != EAGAIN) {
            fail("UFFDIO_COPY of page %" PRIu64 ": %s", page, strerror(errno));
        }
    }
}

static void resolve(struct client *c, const struct guest *guest, const struct uffd_msg *messages, size_t count) {
    size_t whole = sizeof(struct reply) + c->options->page_size;
    for (size_t i = 0; i < count; i++) {
        if (messages[i].event != UFFD_EVENT_PAGEFAULT) {
            fail("event 0x%x is none that a toucher causes", messages[i].event);
        }
        uint64_t page = (messages[i].arg.pagefault.address - guest->base) / c->options->page_size;
        prepare(c, &c->requests[i], page, i);
    }
    send_requests(c, count);
    for (size_t i = 0; i < count; i++) {
        for (size_t held = 0; held < whole;) {
            held += receive_some(c, c->ring + held, whole - held, MSG_WAITALL);
        }
        check_reply(c, c->ring, c->requests[i].page, i);
        install(guest, c->requests[i].page, c->ring + sizeof(struct reply), c->options->page_size);
    }
}

static void serve_faults(struct client *c, const struct guest *guest) {
    struct uffd_msg messages[MESSAGES];
    unsigned looks = 0;
    for (;;) {
        ssize_t n = read(guest->uffd, messages, sizeof messages);
        if (n > 0) {
            resolve(c, guest, messages, (size_t) n / sizeof *messages);
        } else if (n < 0 && errno != EAGAIN) {
            fail("reading faults: %s", strerror(errno));
        } else if (!await_fault(c, guest, &looks)) {
            break;
        }
    }
    park_server(c);
}

static int listen_at(const char *path) {
    struct sockaddr_un address = socket_address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof address) != 0 || listen(fd, 1) != 0) {
        fail("cannot listen at %s: %s", path, strerror(errno));
    }
    return fd;
}

/* Waits for a toucher; false when standard input has ended. */
static bool await_toucher(int listening) {
    struct pollfd fds[2] = {{listening, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    while (poll(fds, 2, -1) < 0) {
        if (errno != EINTR) {
            fail("poll: %s", strerror(errno));
        }
    }
    return fds[1].revents == 0;
}

int main(int argc, char **argv) {
    static struct client client;
    if (argc < 2 || argv[1][0] == '-') {
        fail("say first at which SOCKET memory is handed over");
    }
    struct options options = parse_options(argc - 1, argv + 1);
    struct page_memory memory = map_pages(&options);
    int listening = listen_at(argv[1]);
    int fd = start_server(&options, memory);
    pin(options.client_cpu);
    schedule(options.priority);
    client_open(&client, &options, fd);
    printf("ready %s\n", memory.backing);
    fflush(stdout);
    while (await_toucher(listening)) {
        struct guest guest = take_over(listening);
        serve_faults(&client, &guest);
        close(guest.uffd);
        close(guest.connection);
        if (guest.file >= 0) {
            close(guest.file);
        }
    }
    unlink(argv[1]);
    return 0;
}
