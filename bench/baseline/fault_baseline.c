/*
 * fault_baseline: how fast plain C resolves page faults of another process (fault_toucher) with pages that it fetches over TCP
 * loopback: read the fault, ask with 32 bytes, receive 16 bytes and the page, UFFDIO_COPY. farpage's agent goes the same way, on
 * the same CPUs, for the same toucher.
 *
 *   fault_baseline SOCKET [memcached PORT | redis PORT | nbd PORT] [options of fetch_baseline]
 *
 * With a protocol and a port, the pages come from that server on 127.0.0.1, in which they are stored first; otherwise from a
 * process of its own. Says 'ready', serves one toucher after another, and ends with its standard input. All processes sleep
 * between two touchers.
 */
#define _GNU_SOURCE
#define PROGRAM "fault_baseline"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "handoff.h"
#include "page_server.h"
#include "source_memcached.h"
#include "source_nbd.h"
#include "source_pages.h"
#include "source_redis.h"

enum { LOOKS_BETWEEN_HANG_UPS = 1 << 14 };

static bool has_hung_up(const struct guest *guest) {
    char byte;
    return recv(guest->connection, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Waits for a fault as the mode says; false when the toucher is gone. */
static bool await_fault(const struct page_source *s, const struct guest *guest, unsigned *looks) {
    if (s->options->spin) {
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

static void resolve(
        struct page_source *s, const struct guest *guest, const struct uffd_msg *messages, size_t count) {
    uint64_t pages[MAX_REQUESTS];
    for (size_t i = 0; i < count; i++) {
        if (messages[i].event != UFFD_EVENT_PAGEFAULT) {
            fail("event 0x%x is none that a toucher causes", messages[i].event);
        }
        pages[i] = (messages[i].arg.pagefault.address - guest->base) / s->options->page_size;
    }
    page_source_request(s, pages, count);
    for (size_t i = 0; i < count; i++) {
        struct page_arrival arrival = page_source_receive(s);
        if (arrival.index >= count) {
            fail("a page came for request %" PRIu64 " of %zu", arrival.index, count);
        }
        install(guest, pages[arrival.index], arrival.content, s->options->page_size);
    }
}

static void serve_faults(struct page_source *s, const struct guest *guest) {
    struct uffd_msg messages[MAX_REQUESTS];
    unsigned looks = 0;
    for (;;) {
        ssize_t n = read(guest->uffd, messages, sizeof messages);
        if (n > 0) {
            resolve(s, guest, messages, (size_t) n / sizeof *messages);
        } else if (n < 0 && errno != EAGAIN) {
            fail("reading faults: %s", strerror(errno));
        } else if (!await_fault(s, guest, &looks)) {
            break;
        }
    }
    page_source_park(s);
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

static const struct page_protocol *find_protocol(const char *name) {
    static const char *const names[] = {"memcached", "redis", "nbd", NULL};
    static const struct page_protocol *const protocols[] = {&memcached_protocol, &redis_protocol, &nbd_protocol};
    return protocols[parse_choice("protocol", name, names)];
}

int main(int argc, char **argv) {
    struct page_source source;
    if (argc < 2 || argv[1][0] == '-') {
        fail("say first at which SOCKET memory is handed over");
    }
    bool is_peer = argc > 2 && argv[2][0] != '-';
    int words = is_peer ? 3 : 1;
    if (argc <= words) {
        fail("%s: say on which PORT of 127.0.0.1", argv[2]);
    }
    struct options options = parse_options(argc - words, argv + words);
    const char *backing = "the server's memory";
    int fd;
    if (is_peer) {
        if (options.page_size != MIN_PAGE_SIZE) {
            fail("--page-size %" PRIu64 ": must be %d for pages of a %s server", options.page_size, MIN_PAGE_SIZE, argv[2]);
        }
        fd = connect_to_port((uint16_t) parse_number("PORT", argv[3], 1, UINT16_MAX));
        page_source_open(&source, find_protocol(argv[2]), fd, &options);
    } else {
        struct page_memory memory = map_pages(&options);
        backing = memory.backing;
        fd = start_server(&options, memory);
        page_source_open(&source, &pages_protocol, fd, &options);
    }
    int listening = listen_at(argv[1]);
    pin(options.client_cpu);
    schedule(options.priority);
    printf("ready %s\n", backing);
    fflush(stdout);
    while (await_toucher(listening)) {
        struct guest guest = take_over(listening);
        serve_faults(&source, &guest);
        close(guest.uffd);
        close(guest.connection);
        if (guest.file >= 0) {
            close(guest.file);
        }
    }
    unlink(argv[1]);
    return 0;
}
