/*
 * The memory that forged accesses aim at, cut up as a node's pool is: a header to be read, two spaces side by side with a key each, memory with fewer
 * rights, memory without remote access, a region of another protection domain, one that was deregistered, and pages without a region around them. A
 * copy of all bytes tells what they must be.
 */
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define TARGET_PAGES 96u
#define READ_RIGHT IBV_ACCESS_REMOTE_READ
#define WRITE_RIGHT IBV_ACCESS_REMOTE_WRITE
#define ATOMIC_RIGHT IBV_ACCESS_REMOTE_ATOMIC
#define ALL_RIGHTS (IBV_ACCESS_LOCAL_WRITE | READ_RIGHT | WRITE_RIGHT | ATOMIC_RIGHT)

enum { HEADER, SPACE, NEXT_SPACE, WRITE_ONLY_PAGES, NO_ATOMICS, READ_ONLY_PAGES, LOCAL_PAGES, OPEN_REGIONS };
enum { FOREIGN = OPEN_REGIONS, DEREGISTERED, REGIONS };

struct region {
    uint64_t address, length;
    uint32_t rkey;
    int rights;
};

struct target {
    uint8_t *memory, *expected;
    struct region regions[REGIONS];
};

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(1);
}

static struct region register_pages(struct target *t, struct ibv_pd *pd, unsigned first, unsigned count, int rights, struct ibv_mr **mr) {
    uint8_t *at = t->memory + (size_t) first * PAGE;
    *mr = ibv_reg_mr(pd, at, (size_t) count * PAGE, rights);
    if (!*mr) fail("ibv_reg_mr");
    return (struct region) {(uint64_t) at, (uint64_t) count * PAGE, (*mr)->rkey, rights};
}

/* `foreign` is another protection domain than that of the queue pairs. */
static void open_target(struct target *t, struct ibv_pd *pd, struct ibv_pd *foreign, uint64_t (*draw)(void)) {
    size_t bytes = (size_t) TARGET_PAGES * PAGE;
    t->memory = aligned_alloc(PAGE, bytes);
    t->expected = malloc(bytes);
    if (!t->memory || !t->expected) fail("malloc");
    for (size_t i = 0; i < bytes; i++) t->memory[i] = (uint8_t) draw();
    memcpy(t->expected, t->memory, bytes);
    struct ibv_mr *mr;
    t->regions[HEADER] = register_pages(t, pd, 4, 1, READ_RIGHT, &mr);
    t->regions[SPACE] = register_pages(t, pd, 8, 16, ALL_RIGHTS, &mr);
    t->regions[NEXT_SPACE] = register_pages(t, pd, 24, 16, ALL_RIGHTS, &mr);
    t->regions[WRITE_ONLY_PAGES] = register_pages(t, pd, 40, 8, IBV_ACCESS_LOCAL_WRITE | WRITE_RIGHT, &mr);
    t->regions[NO_ATOMICS] = register_pages(t, pd, 52, 8, IBV_ACCESS_LOCAL_WRITE | WRITE_RIGHT | READ_RIGHT, &mr);
    t->regions[READ_ONLY_PAGES] = register_pages(t, pd, 60, 8, READ_RIGHT, &mr);
    t->regions[LOCAL_PAGES] = register_pages(t, pd, 68, 8, IBV_ACCESS_LOCAL_WRITE, &mr);
    t->regions[FOREIGN] = register_pages(t, foreign, 76, 8, ALL_RIGHTS, &mr);
    t->regions[DEREGISTERED] = register_pages(t, pd, 88, 4, ALL_RIGHTS, &mr);
    if (ibv_dereg_mr(mr)) fail("ibv_dereg_mr");
}

/* Whether `rkey` opens something. */
static int opens(const struct target *t, uint32_t rkey) {
    for (int i = 0; i <= FOREIGN; i++)
        if (t->regions[i].rkey == rkey) return 1;
    return 0;
}

/* Offset of the first byte that no rightful access put where it is, or -1. */
static long first_change(const struct target *t) {
    size_t bytes = (size_t) TARGET_PAGES * PAGE;
    if (!memcmp(t->memory, t->expected, bytes)) return -1;
    for (size_t i = 0; i < bytes; i++)
        if (t->memory[i] != t->expected[i]) return (long) i;
    return -1;
}
