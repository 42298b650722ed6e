/*
 * Stands for a VMM that registers its RAM with a userfaultfd itself, hands it over to an agent, and forks.
 *   registered_ram SOCKET memfd|hugetlb|anonymous|hugetlb-anonymous PAGES SCENARIO
 * When it comes, the first word of every page is its number plus one. Scenarios:
 *   private  children find memory as it was when they were forked, whatever their parent and each other do to it
 *   shared   a child and its parent write to words of their own of all pages at once, and find all that both wrote
 *   heir     the parent ends, and its child goes on with the memory
 *   minor    pages are written through a second mapping that is not registered, and found in the registered one
 * Exit code 3, and a line that says what was wrong, if a word did not hold what it should; a process of the RAM's own does it all, so that
 * this one can tell the end of every descendant.
 */
#define _GNU_SOURCE
#define PROGRAM "registered_ram"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "handoff.h"

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4U
#endif

enum { WRONG = 3, CHILDREN = 4, ROUNDS = 3, PATIENCE_S = 100 };

static uint64_t pages;
static size_t page_bytes = 4096;
static volatile uint64_t *ram;
static volatile uint64_t *alias;
static uint64_t written; /* pages from the first on whose first word is their number plus 1000 */
static int failures; /* a byte for each process that found something wrong */

static volatile uint64_t *word(uint64_t page, unsigned which) {
    return ram + page * page_bytes / sizeof *ram + which;
}

static void expect(const char *who, uint64_t page, unsigned which, uint64_t expected) {
    uint64_t found = *word(page, which);
    if (found != expected) {
        printf("%s: page %" PRIu64 ", word %u holds %" PRIu64 ", expected %" PRIu64 "\n", who, page, which, found, expected);
        fflush(stdout);
        if (write(failures, "x", 1) != 1) {
            perror("write");
        }
        _exit(WRONG);
    }
}

static void await(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        printf("child %d ended with 0x%x\n", child, status);
        fflush(stdout);
        _exit(write(failures, "x", 1) == 1 ? WRONG : 1);
    }
}

/* As fork(2); nobody waits for ever for a page that does not come. */
static pid_t spawn(void) {
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
    }
    return child;
}

/* What the memory is at the fork: pages written, pages at their home, pages given up. */
static uint64_t inherited(uint64_t page) {
    return page < pages / 4 ? 1000 + page : page < 3 * (pages / 4) ? page + 1 : 0;
}

static void *read_what_was_not(void *unused) {
    for (uint64_t page = pages / 4; page < pages / 2; page++) {
        expect("reader", page, 0, page + 1);
    }
    return unused;
}

static void private_child(uint64_t number) {
    for (uint64_t i = 0; i < pages; i++) {
        uint64_t page = number % 2 == 0 ? i : pages - 1 - i;
        expect("child", page, 0, inherited(page));
        *word(page, 0) = number * 10000 + page;
    }
    pid_t grandchild = spawn();
    for (uint64_t page = 0; page < pages; page++) {
        expect(grandchild == 0 ? "grandchild" : "child again", page, 0, number * 10000 + page);
        *word(page, 0) = grandchild == 0 ? 1 : 2;
    }
    if (grandchild == 0) {
        _exit(0);
    }
    await(grandchild);
    for (uint64_t page = 0; page < pages; page++) {
        expect("child at last", page, 0, 2);
    }
    _exit(0);
}

static void private_memory(void) {
    for (uint64_t page = 0; page < pages / 4; page++) {
        expect("parent", page, 0, page + 1);
        *word(page, 0) = 1000 + page;
    }
    size_t given_up = 3 * (pages / 4) * page_bytes;
    if (madvise((char *) ram + given_up, pages * page_bytes - given_up, MADV_DONTNEED) != 0) {
        fail("MADV_DONTNEED: %s", strerror(errno));
    }
    pthread_t reader;
    pthread_create(&reader, NULL, read_what_was_not, NULL);
    pid_t children[CHILDREN];
    for (uint64_t i = 0; i < CHILDREN; i++) {
        children[i] = spawn();
        if (children[i] == 0) {
            private_child(i + 1);
        }
    }
    pthread_join(reader, NULL);
    for (uint64_t page = 0; page < pages; page++) {
        expect("parent", page, 0, inherited(page));
        *word(page, 0) = 7;
    }
    for (int i = 0; i < CHILDREN; i++) {
        await(children[i]);
    }
    for (uint64_t page = 0; page < pages; page++) {
        expect("parent at last", page, 0, 7);
    }
}

static void write_first(uint64_t count) {
    for (written = 0; written < count; written++) {
        expect("parent", written, 0, written + 1);
        *word(written, 0) = 1000 + written;
    }
}

static uint64_t first_word(uint64_t page) {
    return page < written ? 1000 + page : page + 1;
}

/* Counts up a word of every page, or of every other one. */
static void count_up(const char *who, unsigned own, uint64_t step) {
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0; i < pages; i += step) {
            uint64_t page = own % 2 == 0 ? i : (i + pages / 2) % pages;
            expect(who, page, 0, first_word(page));
            expect(who, page, own, round);
            *word(page, own) = round + 1;
        }
    }
}

/* Counts up a word of every page, and expects the others to hold what they did. */
static void check_all(const char *who, unsigned own, uint64_t first, uint64_t second) {
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t page = 0; page < pages; page++) {
            expect(who, page, 0, first_word(page));
            expect(who, page, 1, first);
            expect(who, page, 2, page % 2 == 0 ? second : 0);
            expect(who, page, own, round);
            *word(page, own) = round + 1;
        }
    }
}

static void shared_memory(void) {
    /* What was protected once stays so in the child, too: the other half it is the first to touch. */
    write_first(pages / 2);
    pid_t child = spawn();
    if (child == 0) {
        count_up("child", 1, 1);
        _exit(0);
    }
    /* The other half only the child writes to. */
    count_up("parent", 2, 2);
    await(child);
    puts("the child has ended");
    fflush(stdout);
    /* So that the agent can see that it has, and go on to evict. */
    sleep(1);
    check_all("parent at last", 3, ROUNDS, ROUNDS);
}

static void heir(void) {
    write_first(alias == NULL ? 0 : pages / 2);
    int done[2];
    char byte = 0;
    if (pipe(done) != 0) {
        fail("pipe: %s", strerror(errno));
    }
    pid_t parent = getpid();
    pid_t child = spawn();
    if (child != 0) {
        _exit(read(done[0], &byte, 1) != 1);
    }
    for (uint64_t page = pages / 2; page < pages; page++) {
        expect("heir", page, 0, page + 1);
        *word(page, 1) = 4;
    }
    bool told = write(done[1], &byte, 1) == 1;
    while (told && getppid() == parent) {
        usleep(1000);
    }
    /* So that the agent can see that it has ended. */
    sleep(1);
    for (uint64_t page = 0; page < pages / 2; page++) {
        expect("heir", page, 0, first_word(page));
        *word(page, 1) = 4;
    }
    check_all("heir at last", 3, 4, 0);
}

static void minor(void) {
    for (uint64_t page = 0; page < pages; page += 2) {
        alias[page * page_bytes / sizeof *ram] = page + 1;
        alias[page * page_bytes / sizeof *ram + 1] = 5;
        alias[page * page_bytes / sizeof *ram + 2] = 6;
    }
    for (uint64_t page = 0; page < pages; page++) {
        expect("minor", page, 0, page + 1);
        expect("minor", page, 2, page % 2 == 0 ? 6 : 0);
        *word(page, 1) = 5;
    }
    write_first(pages);
    check_all("minor at last", 3, 5, 6);
}

static int register_memory(bool with_minor) {
    int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        fail("userfaultfd: %s", strerror(errno));
    }
    struct uffdio_api api = {.api = UFFD_API,
            .features = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MISSING_HUGETLBFS | UFFD_FEATURE_PAGEFAULT_FLAG_WP
                    | UFFD_FEATURE_WP_HUGETLBFS_SHMEM | UFFD_FEATURE_EVENT_FORK | UFFD_FEATURE_EVENT_REMOVE
                    | UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP
                    | (with_minor ? UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_MINOR_HUGETLBFS : 0)};
    struct uffdio_register range = {.range = {(uintptr_t) ram, pages * page_bytes},
            .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP
                    | (with_minor ? UFFDIO_REGISTER_MODE_MINOR : 0)};
    if (ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &range) != 0) {
        fail("userfaultfd of %" PRIu64 " pages: %s", pages, strerror(errno));
    }
    return fd;
}

static void *map(int flags, int file) {
    void *memory = mmap(NULL, pages * page_bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file, 0);
    if (memory == MAP_FAILED) {
        fail("mmap of %" PRIu64 " pages: %s", pages, strerror(errno));
    }
    return memory;
}

static void run(const char *socket, const char *backing, const char *scenario) {
    int file = -1;
    bool huge = strncmp(backing, "hugetlb", 7) == 0;
    page_bytes = huge ? 2 << 20 : 4096;
    if (strstr(backing, "anonymous") != NULL) {
        ram = map(MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB | 21 << MAP_HUGE_SHIFT : 0), -1);
        /* One page a fault, whatever the machine's policy on huge pages. */
        madvise((void *) ram, pages * page_bytes, MADV_NOHUGEPAGE);
    } else {
        file = memfd_create(PROGRAM, huge ? MFD_HUGETLB | 21U << 26 : 0);
        if (file < 0 || ftruncate(file, (off_t) (pages * page_bytes)) != 0) {
            fail("memfd of %" PRIu64 " pages: %s", pages, strerror(errno));
        }
        ram = map(MAP_SHARED, file);
        alias = map(MAP_SHARED, file);
    }
    int uffd = register_memory(strcmp(scenario, "minor") == 0);
    hand_over(socket, (void *) ram, pages * page_bytes, page_bytes, uffd, file);
    if (strcmp(scenario, "private") == 0) {
        private_memory();
    } else if (strcmp(scenario, "shared") == 0) {
        shared_memory();
    } else if (strcmp(scenario, "heir") == 0) {
        heir();
    } else {
        minor();
    }
    _exit(0);
}

int main(int argc, char **argv) {
    int ends[2];
    if (argc != 5 || pipe(ends) != 0) {
        fail("%s", argc != 5 ? "SOCKET, backing, PAGES and a scenario are needed" : strerror(errno));
    }
    pages = strtoull(argv[3], NULL, 10);
    failures = ends[1];
    alarm(PATIENCE_S);
    pid_t vmm = spawn();
    if (vmm == 0) {
        run(argv[1], argv[2], argv[4]);
    }
    close(ends[1]);
    char failure;
    bool failed = read(ends[0], &failure, 1) != 0;
    int status;
    failed |= waitpid(vmm, &status, 0) != vmm || status != 0;
    return failed ? WRONG : 0;
}
