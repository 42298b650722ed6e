/*
 * Stands for a VMM that reads its disk into guest RAM with direct I/O, without the preloaded library.
 *   direct_ram SOCKET FILE MODE LIMIT
 * FILE has 8192 blocks of 4 KiB, each filled with words computed from its number. RAM has 64 MiB. Two threads read runs of 64 blocks from
 * random places of FILE to random places of the first half of RAM and compare every word; two threads load and store in the second half,
 * compare with a shadow copy, and so keep the agent evicting. LIMIT: how many runs to read, or, with an s, for how many seconds.
 *   sync       preadv(2), the descriptor stays open
 *   reopen     preadv(2), a descriptor opened and closed for every run
 *   gaps       as reopen, with a pause of up to 20 ms before each run, in which no descriptor has O_DIRECT
 *   libaio     io_submit(2) and io_getevents(2)
 *   io_uring   IORING_OP_READV
 *   registered IORING_OP_READ_FIXED into registered buffers, through a descriptor without O_DIRECT
 *   hidden     as registered, through a ring that is registered itself and has no descriptor any more (IORING_REGISTER_RING_FDS)
 *   bursts     as sync for 300 ms, then no descriptor with O_DIRECT for 300 ms, and so on
 *   buffered   preadv(2) without O_DIRECT
 *   later      preadv(2) without O_DIRECT for half of the runs, then as sync
 * Prints one line of JSON with the blocks read, those of them that were read with O_DIRECT, and the blocks that differ, and up to ten lines on standard error, one for each difference.
 * Exit code 3 if a word differs, 4 if the file system has no direct I/O.
 */
#define _GNU_SOURCE
#define PROGRAM "direct_ram"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "handoff.h"

enum { WRONG = 3, NO_DIRECT_IO = 4, BLOCK = 4096, RUN = 64, RAM_PAGES = 16384, BLOCKS = 8192, READERS = 2, TOUCHERS = 2 };
enum { BURST_NS = 300000000 };
enum { WORDS = BLOCK / sizeof(uint64_t), REPORTED = 10 };
enum mode { SYNC, REOPEN, GAPS, LIBAIO, IO_URING, REGISTERED, HIDDEN, BURSTS, BUFFERED, LATER };

static const char *const modes[] = {"sync", "reopen", "gaps", "libaio", "io_uring", "registered", "hidden", "bursts",
        "buffered", "later"};
static enum mode mode;
static const char *path;
static uint64_t runs_wanted = UINT64_MAX;
static uint64_t end_at = UINT64_MAX;
static volatile uint64_t *ram;
static _Atomic uint64_t runs_read, runs_direct, runs_begun, differences;
static _Atomic bool over;

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static uint64_t next(uint64_t *state) {
    return mix(*state += 0x9e3779b97f4a7c15ull);
}

/* The first word of a block is its number plus one; the others follow from it. */
static uint64_t word_of(uint64_t block, unsigned word) {
    return word == 0 ? block + 1 : mix(block * WORDS + word);
}

static void make_file(void) {
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    static uint64_t run[RUN * WORDS];
    for (uint64_t block = 0; fd >= 0 && block < BLOCKS; block += RUN) {
        for (unsigned i = 0; i < RUN * WORDS; i++) {
            run[i] = word_of(block + i / WORDS, i % WORDS);
        }
        if (write(fd, run, sizeof run) != sizeof run) {
            fail("write to %s: %s", path, strerror(errno));
        }
    }
    if (fd < 0 || fsync(fd) != 0) {
        fail("%s: %s", path, strerror(errno));
    }
    close(fd);
}

static int open_file(bool direct) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    if (fd < 0 && errno == EINVAL) {
        fprintf(stderr, PROGRAM ": %s is on a file system without direct I/O\n", path);
        exit(NO_DIRECT_IO);
    }
    if (fd < 0) {
        fail("%s: %s", path, strerror(errno));
    }
    return fd;
}

static void report(const char *what, uint64_t page, uint64_t found, uint64_t expected) {
    if (atomic_fetch_add(&differences, 1) < REPORTED) {
        fprintf(stderr, "%s: page %" PRIu64 " holds %#" PRIx64 ", expected %#" PRIx64 "\n", what, page, found, expected);
    }
}

/* Whether the run at a page of RAM holds the blocks of the file from one on. */
static void compare(uint64_t page, uint64_t block) {
    for (unsigned i = 0; i < RUN; i++) {
        volatile uint64_t *words = ram + (page + i) * WORDS;
        for (unsigned word = 0; word < WORDS; word++) {
            if (words[word] != word_of(block + i, word)) {
                report(modes[mode], page + i, words[word], word_of(block + i, word));
                break;
            }
        }
    }
}

/* A ring of one reader, with one request at a time. */
struct ring {
    int fd;
    unsigned enter_flags;
    struct io_uring_sqe *entries;
    struct io_uring_params params;
    char *sq, *cq;
};

static void open_ring(struct ring *ring, uint64_t first_page, uint64_t pages) {
    memset(ring, 0, sizeof *ring);
    ring->fd = (int) syscall(SYS_io_uring_setup, 4, &ring->params);
    if (ring->fd < 0) {
        fail("io_uring_setup: %s", strerror(errno));
    }
    size_t sq_bytes = ring->params.sq_off.array + ring->params.sq_entries * sizeof(unsigned);
    size_t cq_bytes = ring->params.cq_off.cqes + ring->params.cq_entries * sizeof(struct io_uring_cqe);
    int both = PROT_READ | PROT_WRITE;
    ring->sq = mmap(NULL, sq_bytes, both, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
    ring->cq = mmap(NULL, cq_bytes, both, MAP_SHARED, ring->fd, IORING_OFF_CQ_RING);
    ring->entries = mmap(NULL, ring->params.sq_entries * sizeof *ring->entries, both, MAP_SHARED, ring->fd, IORING_OFF_SQES);
    if (ring->sq == MAP_FAILED || ring->cq == MAP_FAILED || (void *) ring->entries == MAP_FAILED) {
        fail("mmap of an io_uring: %s", strerror(errno));
    }
    struct iovec all = {(void *) (ram + first_page * WORDS), pages * BLOCK};
    if ((mode == REGISTERED || mode == HIDDEN) && syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS, &all, 1) != 0) {
        fail("IORING_REGISTER_BUFFERS: %s", strerror(errno));
    }
    if (mode == HIDDEN) {
        struct io_uring_rsrc_update itself = {.offset = UINT32_MAX, .data = (uint64_t) ring->fd};
        if (syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_RING_FDS, &itself, 1) != 1) {
            fail("IORING_REGISTER_RING_FDS: %s", strerror(errno));
        }
        close(ring->fd);
        ring->fd = (int) itself.offset;
        ring->enter_flags = IORING_ENTER_REGISTERED_RING;
    }
}

static long read_through_ring(struct ring *ring, int fd, struct iovec *where, off_t offset) {
    _Atomic unsigned *tail = (_Atomic unsigned *) (ring->sq + ring->params.sq_off.tail);
    unsigned mask = *(unsigned *) (ring->sq + ring->params.sq_off.ring_mask);
    unsigned at = *tail & mask;
    bool fixed = mode == REGISTERED || mode == HIDDEN;
    ring->entries[at] = (struct io_uring_sqe) {.opcode = fixed ? IORING_OP_READ_FIXED : IORING_OP_READV, .fd = fd,
            .addr = fixed ? (uintptr_t) where->iov_base : (uintptr_t) where,
            .len = fixed ? (unsigned) where->iov_len : 1, .off = (uint64_t) offset};
    ((unsigned *) (ring->sq + ring->params.sq_off.array))[at] = at;
    atomic_fetch_add(tail, 1);
    if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS | ring->enter_flags, NULL, 0) < 0) {
        return -errno;
    }
    _Atomic unsigned *head = (_Atomic unsigned *) (ring->cq + ring->params.cq_off.head);
    unsigned cq_mask = *(unsigned *) (ring->cq + ring->params.cq_off.ring_mask);
    struct io_uring_cqe *done = (struct io_uring_cqe *) (ring->cq + ring->params.cq_off.cqes) + (*head & cq_mask);
    long result = done->res;
    atomic_fetch_add(head, 1);
    return result;
}

static long read_through_aio(aio_context_t context, int fd, struct iovec *where, off_t offset) {
    struct iocb request = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (unsigned) fd,
            .aio_buf = (uintptr_t) where->iov_base, .aio_nbytes = where->iov_len, .aio_offset = offset};
    struct iocb *requests[] = {&request};
    struct io_event event;
    if (syscall(SYS_io_submit, context, 1, requests) != 1 || syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1) {
        return -errno;
    }
    return event.res;
}

static bool goes_on(void) {
    return !over && now_ns() < end_at && atomic_fetch_add(&runs_begun, 1) < runs_wanted;
}

static void *read_runs(void *argument) {
    uint64_t number = (uintptr_t) argument;
    uint64_t random = mix(number + 1);
    uint64_t room = RAM_PAGES / 2 / READERS;
    uint64_t first = number * room;
    aio_context_t context = 0;
    struct ring ring;
    if (mode == LIBAIO && syscall(SYS_io_setup, 4, &context) != 0) {
        fail("io_setup: %s", strerror(errno));
    }
    bool through_ring = mode == IO_URING || mode == REGISTERED || mode == HIDDEN;
    if (through_ring) {
        open_ring(&ring, first, room);
    }
    bool direct = mode == SYNC || mode == LIBAIO || mode == IO_URING;
    int fd = open_file(direct);
    while (goes_on()) {
        if (mode == LATER && !direct && runs_read >= runs_wanted / 2) {
            direct = true;
            close(fd);
            fd = open_file(true);
        }
        if (mode == GAPS) {
            usleep((useconds_t) (next(&random) % 20000));
        }
        bool pause = mode == BURSTS && now_ns() / BURST_NS % 2 == 1;
        bool opens = mode == REOPEN || mode == GAPS || (mode == BURSTS && !direct);
        if (pause) {
            close(fd);
            fd = open_file(false);
            direct = false;
            usleep((useconds_t) ((BURST_NS - now_ns() % BURST_NS) / 1000));
            opens = true;
        }
        if (opens) {
            close(fd);
            fd = open_file(true);
            direct = true;
        }
        uint64_t block = next(&random) % (BLOCKS - RUN);
        uint64_t page = first + next(&random) % (room - RUN);
        struct iovec where = {(void *) (ram + page * WORDS), RUN * BLOCK};
        off_t offset = (off_t) (block * BLOCK);
        long got = mode == LIBAIO ? read_through_aio(context, fd, &where, offset)
                : through_ring ? read_through_ring(&ring, fd, &where, offset)
                : preadv(fd, &where, 1, offset);
        if (got != RUN * BLOCK) {
            fail("read of %d blocks at %" PRIu64 ": %s", RUN, block, got < 0 ? strerror(mode == SYNC ? errno : (int) -got) : "short");
        }
        if (mode == REOPEN || mode == GAPS) {
            close(fd);
            fd = open_file(false);
        }
        compare(page, block);
        runs_read++;
        runs_direct += direct;
    }
    return NULL;
}

static void *touch(void *argument) {
    uint64_t number = (uintptr_t) argument;
    uint64_t random = mix(number + 100);
    uint64_t room = RAM_PAGES / 2 / TOUCHERS;
    uint64_t first = RAM_PAGES / 2 + number * room;
    uint64_t *shadow = calloc(room, sizeof *shadow);
    while (!over) {
        uint64_t at = next(&random) % room;
        volatile uint64_t *word = ram + (first + at) * WORDS + at % WORDS;
        if (*word != shadow[at]) {
            report("touch", first + at, *word, shadow[at]);
            shadow[at] = *word;
        }
        if (next(&random) % 2 == 0) {
            *word = shadow[at] = next(&random);
        }
    }
    free(shadow);
    return NULL;
}

static void set_up_ram(const char *socket) {
    size_t bytes = (size_t) RAM_PAGES * BLOCK;
    int file = memfd_create("farpage-guest-direct", MFD_CLOEXEC);
    void *memory = file < 0 || ftruncate(file, (off_t) bytes) != 0 ? MAP_FAILED
            : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    int uffd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP
            | UFFD_FEATURE_WP_HUGETLBFS_SHMEM | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP};
    struct uffdio_register range = {
            .range = {(uintptr_t) memory, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP};
    if (memory == MAP_FAILED || uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0 || ioctl(uffd, UFFDIO_REGISTER, &range) != 0) {
        fail("RAM of %zu bytes: %s", bytes, strerror(errno));
    }
    ram = memory;
    hand_over(socket, memory, bytes, BLOCK, uffd, file);
}

static void read_limit(const char *text) {
    char *unit;
    uint64_t number = strtoull(text, &unit, 10);
    if (*unit == 's') {
        end_at = now_ns() + number * 1000000000ull;
    } else {
        runs_wanted = number;
    }
}

int main(int argc, char **argv) {
    unsigned known = sizeof modes / sizeof *modes;
    if (argc != 5) {
        fail("SOCKET, FILE, a mode and a number of runs or of seconds are needed");
    }
    path = argv[2];
    for (mode = 0; mode < known && strcmp(modes[mode], argv[3]) != 0; mode++) {
    }
    if (mode == known) {
        fail("no mode is called %s", argv[3]);
    }
    make_file();
    close(open_file(mode != BUFFERED));
    set_up_ram(argv[1]);
    read_limit(argv[4]);
    pthread_t readers[READERS], touchers[TOUCHERS];
    for (uintptr_t i = 0; i < TOUCHERS; i++) {
        pthread_create(&touchers[i], NULL, touch, (void *) i);
    }
    for (uintptr_t i = 0; i < READERS; i++) {
        pthread_create(&readers[i], NULL, read_runs, (void *) i);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
    }
    over = true;
    for (int i = 0; i < TOUCHERS; i++) {
        pthread_join(touchers[i], NULL);
    }
    printf("{\"blocks\": %" PRIu64 ", \"direct\": %" PRIu64 ", \"differences\": %" PRIu64 "}\n", runs_read * RUN, runs_direct * RUN,
            (uint64_t) differences);
    return differences == 0 ? 0 : WRONG;
}
