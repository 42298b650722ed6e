/*
 * Stands for a foreign VMM: maps a memfd as its RAM, hands it over to an agent, uses it at random, and compares it with a shadow copy.
 *   foreign_vmm SOCKET PAGES SECONDS SEED
 * Each of four threads has a quarter of the pages. It loads words and runs of pages, stores words and runs of pages, and gives pages up with
 * MADV_REMOVE, or MADV_DONTNEED and then fallocate(2). The shadow copy is the seed that each page was filled from last (0: zeros) and a
 * word that was stored since. In the end all pages are compared. Prints one line of JSON. Exit code 3 if a word differs.
 */
#define _GNU_SOURCE
#define PROGRAM "foreign_vmm"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "handoff.h"

enum { WRONG = 3, THREADS = 4, PAGE = 4096, WORDS = PAGE / sizeof(uint64_t), RUN = 32, REPORTED = 10 };

/* What a page holds: words computed from its fill, but for one that may have been stored since. */
struct shadow {
    uint64_t fill;
    uint64_t value;
    unsigned word; /* WORDS: none */
};

static volatile uint64_t *ram;
static int file;
static uint64_t pages, end_at, seed;
static struct shadow *shadows;
static _Atomic uint64_t operations, holes, differences;

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static uint64_t next(uint64_t *state) {
    return mix(*state += 0x9e3779b97f4a7c15ull);
}

static uint64_t expected(uint64_t page, unsigned word) {
    const struct shadow *shadow = &shadows[page];
    return word == shadow->word ? shadow->value : shadow->fill == 0 ? 0 : mix(shadow->fill + word);
}

static void check(uint64_t page, unsigned word) {
    uint64_t found = ram[page * WORDS + word];
    if (found != expected(page, word) && atomic_fetch_add(&differences, 1) < REPORTED) {
        fprintf(stderr, "page %" PRIu64 ", word %u holds %#" PRIx64 ", expected %#" PRIx64 "\n", page, word, found,
                expected(page, word));
    }
}

static void check_page(uint64_t page) {
    for (unsigned word = 0; word < WORDS; word++) {
        check(page, word);
    }
}

static void fill_page(uint64_t page, uint64_t fill) {
    for (unsigned word = 0; word < WORDS; word++) {
        ram[page * WORDS + word] = fill == 0 ? 0 : mix(fill + word);
    }
    shadows[page] = (struct shadow) {.fill = fill, .word = WORDS};
}

static void give_up(uint64_t page, uint64_t count, bool by_file) {
    /* The agent is told before the page leaves the file: a page that is fetched between the two would come back otherwise. */
    int failed = madvise((void *) (ram + page * WORDS), count * PAGE, by_file ? MADV_DONTNEED : MADV_REMOVE)
            || (by_file && fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) (page * PAGE), (off_t) (count * PAGE)));
    if (failed) {
        fail("pages %" PRIu64 " to %" PRIu64 " cannot be given up: %s", page, page + count - 1, strerror(errno));
    }
    for (uint64_t i = page; i < page + count; i++) {
        shadows[i] = (struct shadow) {.fill = 0, .word = WORDS};
    }
    holes += count;
}

static void operate(uint64_t *random, uint64_t page, uint64_t run) {
    unsigned word = (unsigned) (next(random) % WORDS);
    switch (next(random) % 16) {
        case 0:
            for (uint64_t i = 0; i < run; i++) {
                check_page(page + i);
            }
            break;
        case 1:
            for (uint64_t i = 0; i < run; i++) {
                fill_page(page + i, next(random) % 8 == 0 ? 0 : next(random));
            }
            break;
        case 2:
            give_up(page, 1 + next(random) % run, next(random) % 2 == 0);
            break;
        case 3: case 4: case 5: case 6: case 7:
            check_page(page);
            fill_page(page, next(random));
            break;
        case 8: case 9: case 10:
            check_page(page);
            if (shadows[page].word == WORDS) {
                uint64_t value = next(random);
                ram[page * WORDS + word] = value;
                shadows[page].word = word;
                shadows[page].value = value;
            }
            break;
        default:
            check(page, word);
            check_page(page);
    }
}

static void *use(void *argument) {
    uint64_t number = (uintptr_t) argument;
    uint64_t random = mix(seed * THREADS + number + 1);
    uint64_t room = pages / THREADS;
    while (now_ns() < end_at) {
        uint64_t at = next(&random) % room;
        operate(&random, number * room + at, room - at < RUN ? room - at : RUN);
        operations++;
    }
    for (uint64_t page = number * room; page < (number + 1) * room; page++) {
        check_page(page);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fail("SOCKET, PAGES, SECONDS and SEED are needed");
    }
    pages = strtoull(argv[2], NULL, 10) / THREADS * THREADS;
    seed = strtoull(argv[4], NULL, 10);
    shadows = calloc(pages, sizeof *shadows);
    for (uint64_t page = 0; page < pages; page++) {
        shadows[page].word = WORDS;
    }
    size_t bytes = pages * PAGE;
    file = memfd_create("farpage-guest-foreign", MFD_CLOEXEC);
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
    hand_over(argv[1], memory, bytes, PAGE, uffd, file);
    end_at = now_ns() + strtoull(argv[3], NULL, 10) * 1000000000ull;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, use, (void *) i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("{\"operations\": %" PRIu64 ", \"holes\": %" PRIu64 ", \"differences\": %" PRIu64 "}\n", (uint64_t) operations,
            (uint64_t) holes, (uint64_t) differences);
    return differences == 0 ? 0 : WRONG;
}
