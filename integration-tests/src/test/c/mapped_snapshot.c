/*
 * A VMM that resumes from the memory file of a snapshot, as far as its memory is concerned: it maps the file privately, reads and compares all of
 * it in an order of its own, and writes to some pages. What Firecracker's backend "File" and QEMU's memory-backend-file with share=off do.
 *
 *   mapped_snapshot FILE EXPECTED SEED
 *
 * FILE      the file of the snapshot
 * EXPECTED  a file with the same bytes
 * SEED      decides the order of the pages, and which are written to
 *
 * For each line on standard input it makes a pass and prints a line of JSON: the pages compared, those that differ, those written to so far, the
 * time from open(2) to the first page, that of the pass and the longest wait for a page in microseconds, and the share of memory that is this
 * process's (Pss), which counts a page of n processes as an n-th, in KiB. It ends with standard input.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define WRITTEN_EVERY 16

static void fail(const char *what, const char *name) {
  fprintf(stderr, "%s %s: %s\n", what, name, strerror(errno));
  exit(1);
}

static int64_t micros(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static uint64_t next(uint64_t *random) {
  *random ^= *random << 13;
  *random ^= *random >> 7;
  *random ^= *random << 17;
  return *random;
}

/* Pss of the mapping that begins at an address, KiB. */
static long pss(const void *memory) {
  FILE *maps = fopen("/proc/self/smaps", "r");
  char line[512];
  long kib = 0, value;
  int within = 0;
  if (!maps) fail("open", "/proc/self/smaps");
  while (fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) within = from == (unsigned long)memory;
    if (within && sscanf(line, "Pss: %ld kB", &value) == 1) kib += value;
  }
  fclose(maps);
  return kib;
}

int main(int count, char **words) {
  if (count != 4) {
    fprintf(stderr, "usage: mapped_snapshot FILE EXPECTED SEED\n");
    return 2;
  }
  uint64_t seed = strtoull(words[3], NULL, 10) * 0x9e3779b97f4a7c15ULL + 1;
  int expected = open(words[2], O_RDONLY);
  if (expected < 0) fail("open", words[2]);
  int64_t began = micros();
  int file = open(words[1], O_RDONLY);
  struct stat stat;
  if (file < 0 || fstat(file, &stat) < 0) fail("open", words[1]);
  char *memory = mmap(NULL, stat.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) fail("mmap", words[1]);
  /* A mapping alone must keep the snapshot in use. */
  close(file);
  long pages = stat.st_size / PAGE;
  volatile char first = memory[next(&seed) % pages * PAGE];
  (void)first;
  int64_t to_first = micros() - began;
  char *changed = calloc(pages, 1);
  char *line = NULL;
  size_t length = 0;
  while (getline(&line, &length, stdin) > 0) {
    long differ = 0, written = 0;
    int64_t longest = 0, pass = micros();
    char wanted[PAGE];
    /* An odd step visits each page once if the number of pages is a power of two; otherwise the order is a run from a random page on. */
    uint64_t step = (pages & (pages - 1)) == 0 ? next(&seed) | 1 : 1, at = next(&seed);
    for (long i = 0; i < pages; i++, at += step) {
      long page = at % pages;
      if (pread(expected, wanted, PAGE, page * PAGE) != PAGE) fail("read", words[2]);
      if (changed[page]) memset(wanted, changed[page], PAGE);
      int64_t asked = micros();
      volatile char touched = memory[page * PAGE];
      (void)touched;
      int64_t waited = micros() - asked;
      if (waited > longest) longest = waited;
      differ += memcmp(wanted, memory + page * PAGE, PAGE) != 0;
      if (next(&seed) % WRITTEN_EVERY == 0) {
        changed[page] = (char)(next(&seed) | 1);
        memset(memory + page * PAGE, changed[page], PAGE);
      }
      written += changed[page] != 0;
    }
    pass = micros() - pass;
    printf("{\"pages\":%ld,\"differences\":%ld,\"written\":%ld,\"firstMicros\":%lld,\"passMicros\":%lld,\"longestMicros\":%lld,\"pssKib\":%ld}\n",
           pages, differ, written, (long long)to_first, (long long)pass, (long long)longest, pss(memory));
    fflush(stdout);
  }
  return 0;
}
