/* What goes over the socket, and how either side moves it: spinning without ever sleeping, or sleeping in the kernel. */
#ifndef FARPAGE_WIRE_H
#define FARPAGE_WIRE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "options.h"

enum operation { OP_FETCH = 1, OP_PARK = 2 }; /* PARK: sleep until the next request, so that others may measure */

struct request {
    uint64_t page;
    uint64_t cookie;
    uint32_t length;
    uint32_t operation;
    uint64_t reserved;
};

struct reply {
    uint64_t cookie;
    uint32_t length;
    uint32_t status;
};

_Static_assert(sizeof(struct request) == 32, "a request is 32 bytes");
_Static_assert(sizeof(struct reply) == 16, "a reply's header is 16 bytes");

static const uint64_t TIMEOUT_NS = 10ull * 1000 * 1000 * 1000;

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000ull + (uint64_t) t.tv_nsec;
}

static inline void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        fail("sched_setaffinity to cpu %d: %s", cpu, strerror(errno));
    }
}

/* As an agent schedules its threads that sleep: real-time priority, or where that is not permitted the shortest slice that the kernel grants. */
static inline void schedule(int priority) {
    if (priority == 0 || sched_setscheduler(0, SCHED_FIFO, &(struct sched_param) {.sched_priority = priority}) == 0) {
        return;
    }
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns, deadline_ns, period_ns;
    } ordinary = {.size = sizeof ordinary, .policy = SCHED_OTHER, .nice = getpriority(PRIO_PROCESS, 0), .slice_ns = 100000};
    if (errno != EPERM || syscall(SYS_sched_setattr, 0, &ordinary, 0) != 0) {
        fail("--priority %d: %s", priority, strerror(errno));
    }
}

static inline void configure_socket(int fd) {
    int one = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) {
        fail("setsockopt TCP_NODELAY: %s", strerror(errno));
    }
}

/* A connection to a port of 127.0.0.1, whose server may need a moment to listen. A wait for a reply has an end. */
static inline int connect_to_port(uint16_t port) {
    struct sockaddr_in address = {
            .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    uint64_t deadline = now_ns() + TIMEOUT_NS;
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *) &address, sizeof address) == 0) {
            configure_socket(fd);
            struct timeval timeout = {.tv_sec = (time_t) (TIMEOUT_NS / 1000000000)};
            if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0) {
                fail("setsockopt SO_RCVTIMEO: %s", strerror(errno));
            }
            return fd;
        }
        if (fd < 0 || errno != ECONNREFUSED || now_ns() > deadline) {
            fail("cannot connect to 127.0.0.1:%u: %s", port, strerror(errno));
        }
        close(fd);
        nanosleep(&(struct timespec) {.tv_nsec = 10000000}, NULL);
    }
}

/*
 * One recv of 1 to `size` bytes; 0 when the peer has closed. The clock is read once in 65536 empty polls: a peer that has
 * died closes the socket, so timeout only ends a peer that hangs.
 */
static inline size_t receive_spinning(int fd, void *to, size_t size) {
    uint64_t started = 0;
    for (uint64_t polls = 1;; polls++) {
        ssize_t n = recv(fd, to, size, MSG_DONTWAIT);
        if (n >= 0) {
            return (size_t) n;
        }
        if (errno != EAGAIN && errno != EINTR) {
            fail("recv: %s", strerror(errno));
        }
        if ((polls & 0xffff) == 0) {
            uint64_t now = now_ns();
            started = started == 0 ? now : started;
            if (now - started > TIMEOUT_NS) {
                fail("recv: nothing came for %" PRIu64 " s", TIMEOUT_NS / 1000000000);
            }
        }
    }
}

static inline size_t receive_blocking(int fd, void *to, size_t size, int flags) {
    for (;;) {
        ssize_t n = recv(fd, to, size, flags);
        if (n >= 0) {
            return (size_t) n;
        }
        if (errno == EAGAIN) {
            fail("recv: nothing came for %" PRIu64 " s", TIMEOUT_NS / 1000000000);
        }
        if (errno != EINTR) {
            fail("recv: %s", strerror(errno));
        }
    }
}

/* Sends every byte of the vectors, which it consumes; one system call unless the socket's buffer is full. */
static inline void send_all(int fd, struct iovec *vectors, size_t count, bool spin) {
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = count};
    while (message.msg_iovlen > 0) {
        ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL | (spin ? MSG_DONTWAIT : 0));
        if (n < 0) {
            if (errno == EAGAIN || errno == EINTR) {
                continue;
            }
            fail("sendmsg: %s", strerror(errno));
        }
        size_t sent = (size_t) n;
        while (message.msg_iovlen > 0 && sent >= message.msg_iov->iov_len) {
            sent -= message.msg_iov->iov_len;
            message.msg_iov++;
            message.msg_iovlen--;
        }
        if (message.msg_iovlen > 0) {
            message.msg_iov->iov_base = (char *) message.msg_iov->iov_base + sent;
            message.msg_iov->iov_len -= sent;
        }
    }
}

#endif
