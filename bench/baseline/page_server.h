/* The serving process, and how it is started: gathers the requests that have come and answers them with one sendmsg, straight from its memory. */
#ifndef FARPAGE_PAGE_SERVER_H
#define FARPAGE_PAGE_SERVER_H

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "wire.h"

#define REPLIES_AT_ONCE 512u /* two vectors each, and IOV_MAX is 1024 */

struct page_memory {
    char *pages;
    const char *backing;
};

/* Made before the server is forked, so that the client can tell how it is backed. */
static inline struct page_memory map_pages(const struct options *o) {
    size_t huge = 2u << 20;
    size_t size = ((size_t) (o->pages * o->page_size) + huge - 1) & ~(huge - 1);
    if (o->hugepages) {
        void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
        if (at != MAP_FAILED) {
            return (struct page_memory) {at, "hugetlb-2M"};
        }
    }
    char *at = mmap(NULL, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        fail("mmap of %zu bytes for --pages %" PRIu64 ": %s", size, o->pages, strerror(errno));
    }
    at = (char *) (((uintptr_t) at + huge - 1) & ~(uintptr_t) (huge - 1));
    bool transparent = o->hugepages && madvise(at, size, MADV_HUGEPAGE) == 0;
    return (struct page_memory) {at, transparent ? "transparent" : "4K"};
}

static inline size_t answer(
        int fd, const struct options *o, const char *pages, const struct request *requests, size_t count, bool *parked) {
    static struct reply replies[REPLIES_AT_ONCE];
    static struct iovec vectors[2 * REPLIES_AT_ONCE];
    size_t filled = 0;
    for (size_t i = 0; i < count; i++) {
        const struct request *r = &requests[i];
        if (r->operation == OP_PARK) {
            *parked = true;
            continue;
        }
        if (r->operation != OP_FETCH || r->page >= o->pages || r->length != o->page_size) {
            fail("server: request for page %" PRIu64 " of %u bytes is not one of ours", r->page, r->length);
        }
        struct reply *reply = &replies[filled / 2];
        *reply = (struct reply) {.cookie = r->cookie, .length = r->length, .status = 0};
        vectors[filled++] = (struct iovec) {reply, sizeof *reply};
        vectors[filled++] = (struct iovec) {(char *) pages + r->page * o->page_size, o->page_size};
    }
    if (filled > 0) {
        send_all(fd, vectors, filled, o->spin);
    }
    return count;
}

/* Fills the pages, says so with one byte to `filled`, and serves one client until it goes. */
__attribute__((noreturn)) static inline void serve(
        int listening, int filled, const struct options *o, struct page_memory memory) {
    static struct request requests[REPLIES_AT_ONCE];
    pin(o->server_cpu);
    schedule(o->priority);
    for (uint64_t page = 0; page < o->pages; page++) {
        page_content_fill((uint64_t *) (memory.pages + page * o->page_size), o->page_size, o->seed, page);
    }
    if (write(filled, "", 1) != 1) {
        fail("server: cannot tell the client that the pages are filled: %s", strerror(errno));
    }
    int fd = accept(listening, NULL, NULL);
    if (fd < 0) {
        fail("server: accept: %s", strerror(errno));
    }
    configure_socket(fd);
    size_t held = 0;
    bool parked = true;
    for (;;) {
        char *to = (char *) requests + held;
        size_t room = sizeof requests - held;
        size_t n = o->spin && !parked ? receive_spinning(fd, to, room) : receive_blocking(fd, to, room, 0);
        if (n == 0) {
            exit(0);
        }
        held += n;
        parked = false;
        size_t whole = answer(fd, o, memory.pages, requests, held / sizeof *requests, &parked) * sizeof *requests;
        held -= whole;
        if (held > 0) {
            memmove(requests, (char *) requests + whole, held);
        }
    }
}

static inline int listen_on_loopback(struct sockaddr_in *address) {
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
static inline int start_server(const struct options *o, struct page_memory memory) {
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
    int fd = connect_to_port(ntohs(address.sin_port));
    close(listening);
    return fd;
}

#endif
