/*
 * A disk whose every block carries its number, and a guest that reads it under memory pressure.
 *   disk_blocks make FILE BLOCKS     writes the image (on the host)
 *   disk_blocks read DEVICE BLOCKS   reads at least that many blocks and compares every word (in the guest)
 * Four threads read runs of 64 blocks at random, each into its own 24 MiB: half of the runs with O_DIRECT, the others through the guest's page
 * cache, which is dropped behind them. A fifth thread walks through 192 MiB of memory, compares what it stored, and stores anew.
 * Prints one line of JSON with the number of blocks that were read and of differences.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 4096, WORDS = BLOCK / sizeof(uint64_t), RUN = 64, READERS = 4, BUFFER_BLOCKS = 24 << 8, PRESSURE_PAGES = 192 << 8, REPORTED = 10 };

static _Atomic uint64_t differences, blocks_read;
static const char *device;
static uint64_t wanted;
static _Atomic bool over;

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static uint64_t word_of(uint64_t block, unsigned word) {
    return word == 0 ? block + 1 : mix(block * WORDS + word);
}

static void fail(const char *what) {
    fprintf(stderr, "disk_blocks: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void report(const char *what, uint64_t number, uint64_t found, uint64_t expected) {
    if (atomic_fetch_add(&differences, 1) < REPORTED) {
        printf("direct-io: %s %" PRIu64 " holds %#" PRIx64 ", expected %#" PRIx64 "\n", what, number, found, expected);
    }
}

static void make(const char *path, uint64_t blocks) {
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    static uint64_t run[RUN * WORDS];
    for (uint64_t block = 0; block < blocks; block += RUN) {
        for (unsigned i = 0; i < RUN * WORDS; i++) {
            run[i] = word_of(block + i / WORDS, i % WORDS);
        }
        if (write(fd, run, sizeof run) != sizeof run) {
            fail(path);
        }
    }
    if (fd < 0 || fsync(fd) != 0) {
        fail(path);
    }
}

static uint64_t *map(size_t pages) {
    void *memory = mmap(NULL, pages * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fail("mmap");
    }
    return memory;
}

static void *press(void *unused) {
    volatile uint64_t *memory = map(PRESSURE_PAGES);
    for (uint64_t round = 0; !over; round++) {
        for (uint64_t page = 0; page < PRESSURE_PAGES && !over; page++) {
            volatile uint64_t *word = memory + page * WORDS + page % WORDS;
            uint64_t expected = round == 0 ? 0 : mix(page * 1000 + round);
            if (*word != expected) {
                report("page", page, *word, expected);
            }
            *word = mix(page * 1000 + round + 1);
        }
    }
    return unused;
}

static void *read_runs(void *seed) {
    int direct = open(device, O_RDONLY | O_DIRECT), cached = open(device, O_RDONLY);
    off_t bytes = lseek(cached, 0, SEEK_END);
    uint64_t *buffer = map(BUFFER_BLOCKS);
    if (direct < 0 || bytes <= RUN * BLOCK) {
        fail(device);
    }
    uint64_t blocks = (uint64_t) bytes / BLOCK, random = (uint64_t) (uintptr_t) seed;
    while (atomic_fetch_add(&blocks_read, RUN) < wanted) {
        random = mix(random + 0x9e3779b97f4a7c15ull);
        uint64_t first = random % (blocks - RUN);
        uint64_t *to = buffer + random / blocks % (BUFFER_BLOCKS - RUN) * WORDS;
        bool past_cache = random >> 63;
        if (pread(past_cache ? direct : cached, to, RUN * BLOCK, (off_t) first * BLOCK) != RUN * BLOCK) {
            fail("pread");
        }
        if (!past_cache) {
            posix_fadvise(cached, (off_t) first * BLOCK, RUN * BLOCK, POSIX_FADV_DONTNEED);
        }
        for (unsigned i = 0; i < RUN; i++) {
            for (unsigned word = 0; word < WORDS; word++) {
                if (to[i * WORDS + word] != word_of(first + i, word)) {
                    report("block", first + i, to[i * WORDS + word], word_of(first + i, word));
                    break;
                }
            }
        }
    }
    return NULL;
}

static void read_disk(void) {
    pthread_t pressure, readers[READERS];
    pthread_create(&pressure, NULL, press, NULL);
    for (uintptr_t i = 0; i < READERS; i++) {
        pthread_create(readers + i, NULL, read_runs, (void *) (i + 1));
    }
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
    }
    over = true;
    pthread_join(pressure, NULL);
    // Each reader counted one run that it did not read.
    printf("direct-io: {\"blocks\": %" PRIu64 ", \"differences\": %" PRIu64 "}\n", blocks_read - READERS * RUN, differences);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "disk_blocks: make FILE BLOCKS or read DEVICE BLOCKS\n");
        return 2;
    }
    uint64_t blocks = strtoull(argv[3], NULL, 10);
    if (strcmp(argv[1], "make") == 0) {
        make(argv[2], blocks);
        return 0;
    }
    device = argv[2];
    wanted = blocks;
    read_disk();
    return 0;
}
