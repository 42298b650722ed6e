/*
 * The only process of a guest that is saved and resumed: fills memory with words that follow from their addresses, and then compares them, pass after
 * pass, for ever. Each pass is a line on the console:
 *     guest: pass 3 of 64 MiB, 0 differences
 * A guest that was resumed goes on counting where it was.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MIB = 64, PAGE = 4096, WORDS = PAGE / 8 };

static uint64_t word(uint64_t page, uint64_t number, uint64_t version) {
    uint64_t x = (page * WORDS + number) * 0x9e3779b97f4a7c15u + version;
    x ^= x >> 29;
    return x * 0xbf58476d1ce4e5b9u;
}

static void fill(uint64_t *words, uint64_t page, uint64_t version) {
    for (uint64_t i = 0; i < WORDS; i++) {
        words[i] = word(page, i, version);
    }
}

int main(void) {
    uint64_t pages = (uint64_t) MIB * 1024 * 1024 / PAGE;
    mount("dev", "/dev", "devtmpfs", 0, NULL);
    mknod("/dev/ttyS0", S_IFCHR | 0600, makedev(4, 64));
    int console = open("/dev/ttyS0", O_RDWR | O_NOCTTY);
    if (console >= 0) {
        dup2(console, 1);
    }
    uint64_t *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        printf("guest: there are no %d MiB\n", MIB);
        fflush(stdout);
        pause();
    }
    for (uint64_t page = 0; page < pages; page++) {
        fill(memory + page * WORDS, page, 0);
    }
    for (uint64_t pass = 1;; pass++) {
        uint64_t differences = 0;
        for (uint64_t i = 0; i < pages; i++) {
            /* Not in order, so that readahead does not bring all. Every seventh page is written anew, with the number of the pass. */
            uint64_t page = i * 4099 % pages;
            uint64_t version = page % 7 == 0 ? pass - 1 : 0;
            for (uint64_t k = 0; k < WORDS; k++) {
                differences += memory[page * WORDS + k] != word(page, k, version);
            }
            if (page % 7 == 0) {
                fill(memory + page * WORDS, page, pass);
            }
        }
        printf("guest: pass %llu of %d MiB, %llu differences\n", (unsigned long long) pass, MIB, (unsigned long long) differences);
        fflush(stdout);
        usleep(200000);
    }
}
