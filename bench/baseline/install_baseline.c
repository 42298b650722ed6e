/*
 * install_baseline: what it takes to put a page of 2 MiB that comes from elsewhere into memory on hugetlbfs whose faults a pager handles.
 *   copy      it arrives in a staging page; UFFDIO_COPY
 *   continue  it arrives in the page itself, through a second mapping that is not registered, which has the kernel allocate and clear
 *             the page; UFFDIO_CONTINUE
 * Both install it write-protected. A page arrives by memcpy, the least that a transfer in software does, by recv from a TCP socket on
 * loopback, as the soft provider does, or not at all, as with a device that writes memory itself: then it has only to be there, that
 * is, allocated. The ways take turns page by page in one process; the page is punched out of the file in between, off the clock.
 * Prints a line of JSON for each kind of arrival.
 */
#define _GNU_SOURCE
#define PROGRAM "install_baseline"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "latency_histogram.h"
#include "wire.h"

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4U
#endif
#ifndef UFFDIO_CONTINUE_MODE_WP
#define UFFDIO_CONTINUE_MODE_WP (1ull << 1)
#endif

enum { PAGE = 2 << 20, PAGES = 16, WAYS = 2 };
enum arrival { COPIED, RECEIVED, WRITTEN_BY_DEVICE, ARRIVALS };

static const char *const arrival_names[] = {"memcpy", "tcp", "device"};

struct bench {
    char *guest;   /* registered */
    char *alias;   /* the same file */
    char *staging;
    char *source;
    int file;
    int uffd;
    int connection;
    struct latency_histogram latencies[WAYS];
};

static char *map(int flags, int file) {
    char *memory = mmap(NULL, (size_t) PAGES * PAGE, PROT_READ | PROT_WRITE, flags, file, 0);
    if (memory == MAP_FAILED) {
        fail("mmap of %d hugepages: %s; let the kernel have %d: /proc/sys/vm/nr_hugepages", PAGES, strerror(errno), 3 * PAGES);
    }
    return memory;
}

static void set_up(struct bench *b) {
    b->file = memfd_create(PROGRAM, MFD_HUGETLB | 21U << 26);
    if (b->file < 0 || ftruncate(b->file, (off_t) PAGES * PAGE) != 0) {
        fail("memfd of hugepages: %s", strerror(errno));
    }
    int huge = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT;
    b->guest = map(MAP_SHARED, b->file);
    b->alias = map(MAP_SHARED, b->file);
    b->staging = map(huge, -1);
    b->source = map(huge, -1);
    memset(b->source, 0x5a, (size_t) PAGES * PAGE);
    b->uffd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API,
            .features = UFFD_FEATURE_MISSING_HUGETLBFS | UFFD_FEATURE_MINOR_HUGETLBFS | UFFD_FEATURE_PAGEFAULT_FLAG_WP
                    | UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
    struct uffdio_register range = {.range = {(uintptr_t) b->guest, (size_t) PAGES * PAGE},
            .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP};
    if (b->uffd < 0 || ioctl(b->uffd, UFFDIO_API, &api) != 0 || ioctl(b->uffd, UFFDIO_REGISTER, &range) != 0) {
        fail("userfaultfd of hugepages: %s", strerror(errno));
    }
}

static void *send_pages(void *argument) {
    const struct bench *b = argument;
    int fd = b->connection;
    char order;
    for (uint64_t i = 0; recv(fd, &order, 1, 0) == 1; i++) {
        for (size_t sent = 0; sent < PAGE;) {
            ssize_t n = send(fd, b->source + i % PAGES * PAGE + sent, PAGE - sent, MSG_NOSIGNAL);
            if (n <= 0) {
                fail("send: %s", strerror(errno));
            }
            sent += (size_t) n;
        }
    }
    return NULL;
}

/* Connects with a thread that sends a page for each byte that it is sent. */
static int connect_to_sender(struct bench *b) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listening, (struct sockaddr *) &address, length) != 0 || listen(listening, 1) != 0
            || getsockname(listening, (struct sockaddr *) &address, &length) != 0
            || connect(fd, (struct sockaddr *) &address, length) != 0) {
        fail("TCP on loopback: %s", strerror(errno));
    }
    b->connection = accept(listening, NULL, NULL);
    configure_socket(b->connection);
    configure_socket(fd);
    pthread_t sender;
    if (pthread_create(&sender, NULL, send_pages, b) != 0) {
        fail("pthread_create: %s", strerror(errno));
    }
    return fd;
}

static void arrive(const struct bench *b, enum arrival how, char *to, uint64_t page, int fd) {
    if (how == COPIED) {
        memcpy(to, b->source + page * PAGE, PAGE);
    } else if (how == WRITTEN_BY_DEVICE) {
        *(volatile char *) to = 1;
    } else {
        for (size_t got = 0; got < PAGE;) {
            ssize_t n = recv(fd, to + got, PAGE - got, 0);
            if (n <= 0) {
                fail("recv: %s", strerror(errno));
            }
            got += (size_t) n;
        }
    }
}

static uint64_t install(struct bench *b, bool alias, enum arrival how, uint64_t page, int fd) {
    size_t at = page * PAGE;
    if (how == RECEIVED && send(fd, "p", 1, MSG_NOSIGNAL) != 1) {
        fail("send: %s", strerror(errno));
    }
    uint64_t before = now_ns();
    arrive(b, how, (alias ? b->alias : b->staging) + at, page, fd);
    int result;
    if (alias) {
        struct uffdio_continue in = {.range = {(uintptr_t) b->guest + at, PAGE}, .mode = UFFDIO_CONTINUE_MODE_WP};
        result = ioctl(b->uffd, UFFDIO_CONTINUE, &in);
    } else {
        struct uffdio_copy in = {.dst = (uintptr_t) b->guest + at, .src = (uintptr_t) b->staging + at, .len = PAGE,
                .mode = UFFDIO_COPY_MODE_WP};
        result = ioctl(b->uffd, UFFDIO_COPY, &in);
    }
    uint64_t after = now_ns();
    if (result != 0) {
        fail("%s: %s", alias ? "UFFDIO_CONTINUE" : "UFFDIO_COPY", strerror(errno));
    }
    if (how != WRITTEN_BY_DEVICE && memcmp(b->guest + at, b->source + at, PAGE) != 0) {
        fail("page %" PRIu64 " does not hold what arrived", page);
    }
    if (fallocate(b->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) at, PAGE) != 0) {
        fail("fallocate: %s", strerror(errno));
    }
    return after - before;
}

static void measure(struct bench *b, enum arrival how, uint64_t rounds, int fd) {
    memset(b->latencies, 0, sizeof b->latencies);
    for (uint64_t i = 0; i < rounds; i++) {
        /* The sender counts its own pages, so a turn of each way has the same one. */
        uint64_t page = i % PAGES;
        for (int turn = 0; turn < WAYS; turn++) {
            int alias = (int) ((i + (uint64_t) turn) % WAYS);
            uint64_t ns = install(b, alias == 1, how, how == RECEIVED ? (2 * i + (uint64_t) turn) % PAGES : page, fd);
            if (i >= rounds / 10) {
                latency_record(&b->latencies[alias], ns);
            }
        }
    }
    const struct latency_histogram *copy = &b->latencies[0];
    const struct latency_histogram *alias = &b->latencies[1];
    printf("{\"name\":\"install\",\"pageSize\":%d,\"arrival\":\"%s\",\"count\":%" PRIu64, PAGE, arrival_names[how], copy->total);
    printf(",\"copyP50Ns\":%" PRIu64 ",\"copyP99Ns\":%" PRIu64 ",\"copyMaxNs\":%" PRIu64, latency_percentile(copy, 50),
            latency_percentile(copy, 99), copy->max);
    printf(",\"continueP50Ns\":%" PRIu64 ",\"continueP99Ns\":%" PRIu64 ",\"continueMaxNs\":%" PRIu64, latency_percentile(alias, 50),
            latency_percentile(alias, 99), alias->max);
    printf(",\"continueToCopy\":%.3f}\n", (double) latency_percentile(alias, 50) / (double) latency_percentile(copy, 50));
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fail("the number of pages to install each way is needed");
    }
    uint64_t rounds = parse_number("ROUNDS", argv[1], 20, 1000000);
    static struct bench b;
    set_up(&b);
    int fd = connect_to_sender(&b);
    for (int how = 0; how < ARRIVALS; how++) {
        measure(&b, (enum arrival) how, rounds, fd);
    }
    return 0;
}
