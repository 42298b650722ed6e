/*
 * Stands for a VMM that changes its mappings while an agent pages them, in all the ways in which it may.
 *   changing_ram SOCKET memfd|hugetlb PAGES SCENARIO [FILE]
 * When it comes, the first word of every page is its number plus one. Scenarios:
 *   split    single pages get other protections and advice than their neighbours, and the memory is read and written from end to end
 *   populate the same, and the kernel touches the pages for the VMM: MADV_POPULATE_READ, MADV_POPULATE_WRITE, mlock(2)
 *   replace  single pages are mapped over with other memory, of which the agent is not told, while threads wait for them
 *   remap    runs of pages move to other addresses
 *   remove   all pages are given up at once, and some are written to again before the agent can have looked at all of them
 *   unmap    once FILE is there a range of 16 TiB is unmapped that has the last page
 *   storm    a hundred threads give up pages until FILE is there
 *   lost     pages are lost once FILE is there; the VMM gets SIGBUS for each that is not resident
 *   punch    once FILE exists, the VMM punches a hole at a page that a thread waits for, then gives the page up and writes to it
 *   fork     once FILE is there a child is forked, that finds all pages as its parent does
 * Exit code 3, and a line that says what was wrong, if a word did not hold what it should.
 */
#define _GNU_SOURCE
#define PROGRAM "changing_ram"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "handoff.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { WRONG = 3, TIMEOUT_S = 100, ROUNDS = 3, STORM = 100, CHUNK = 8 };

static const uintptr_t BASE = 1UL << 44;
static const size_t WIDE = 1UL << 44;

static uint64_t pages;
static size_t page_bytes = 4096;
static volatile uint64_t *ram;
static int file;
static const char *file_name;
static volatile uint64_t asked, answered;
static sigjmp_buf after;

static volatile uint64_t *word(uint64_t page, unsigned which) {
    return ram + page * page_bytes / sizeof *ram + which;
}

static void *at(uint64_t page) {
    return (void *) word(page, 0);
}

static void wrong(const char *who, uint64_t page, unsigned which, uint64_t found, uint64_t expected) {
    printf("%s: page %" PRIu64 ", word %u holds %" PRIu64 ", expected %" PRIu64 "\n", who, page, which, found, expected);
    fflush(stdout);
    _exit(WRONG);
}

static void expect(const char *who, uint64_t page, unsigned which, uint64_t expected) {
    uint64_t found = *word(page, which);
    if (found != expected) {
        wrong(who, page, which, found, expected);
    }
}

static void check(int result, const char *call) {
    if (result != 0) {
        fail("%s: %s", call, strerror(errno));
    }
}

static bool is_there(void) {
    return access(file_name, F_OK) == 0;
}

static void await_file(void) {
    puts("ready");
    fflush(stdout);
    while (!is_there()) {
        usleep(2000);
    }
}

static bool is_read_only(uint64_t page) {
    return page % 7 == 3;
}

static void split(void) {
    for (uint64_t page = 0; page < pages; page++) {
        if (is_read_only(page)) {
            check(mprotect(at(page), page_bytes, PROT_READ), "mprotect");
        } else if (page % 7 == 5) {
            check(madvise(at(page), page_bytes, MADV_DONTFORK), "MADV_DONTFORK");
        } else if (page % 7 == 6) {
            check(madvise(at(page), page_bytes, MADV_RANDOM), "MADV_RANDOM");
        }
    }
}

static void read_and_write(const char *who) {
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t page = 0; page < pages; page++) {
            expect(who, page, 0, page + 1);
            expect(who, page, 1, is_read_only(page) ? 0 : round);
            if (!is_read_only(page)) {
                *word(page, 1) = round + 1;
            }
        }
        /* What is written changes place, too: the pages behind are protected from stores one by one. */
        for (uint64_t page = 1; page < pages; page += 2) {
            check(mprotect(at(page), page_bytes, PROT_READ), "mprotect");
            check(mprotect(at(page), page_bytes, is_read_only(page) ? PROT_READ : PROT_READ | PROT_WRITE), "mprotect");
        }
    }
}

static void populate(void) {
    check(madvise(at(0), pages * page_bytes, MADV_POPULATE_READ), "MADV_POPULATE_READ");
    for (uint64_t page = 0; page + 2 < pages; page += 7) {
        check(madvise(at(page), 3 * page_bytes, MADV_POPULATE_WRITE), "MADV_POPULATE_WRITE");
        check(mlock(at(page + 1), page_bytes), "mlock");
    }
    read_and_write("populated");
    check(munlock(at(0), pages * page_bytes), "munlock");
    for (uint64_t page = 0; page < pages; page++) {
        expect("unlocked", page, 1, is_read_only(page) ? 0 : ROUNDS);
    }
}

static void *touch(void *unused) {
    for (uint64_t done = 0; done < pages;) {
        if (asked > done) {
            done = asked;
            answered = *word(done - 1, 0) == done ? done : done + pages;
        }
    }
    return unused;
}

static void replace(void) {
    pthread_t toucher;
    check(pthread_create(&toucher, NULL, touch, NULL), "pthread_create");
    for (uint64_t page = 0; page < pages; page++) {
        asked = page + 1;
        if (page % 9 == 4) {
            for (uint64_t turn = 0; turn < page % 4 * 5000; turn++) {
                __asm__ volatile("" ::: "memory");
            }
            if (mmap(at(page), page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at(page)) {
                fail("mmap over page %" PRIu64 ": %s", page, strerror(errno));
            }
            *word(page, 0) = page + 1;
            *word(page, 2) = 9;
        }
        while (answered != page + 1 && answered != page + 1 + pages) {
            __asm__ volatile("pause");
        }
        if (answered != page + 1 && page % 9 != 4) {
            wrong("toucher", page, 0, *word(page, 0), page + 1);
        }
    }
    asked = pages;
    pthread_join(toucher, NULL);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t page = 0; page < pages; page++) {
            expect("replaced", page, 0, page + 1);
            expect("replaced", page, 1, round);
            expect("replaced", page, 2, page % 9 == 4 ? 9 : 0);
            *word(page, 1) = round + 1;
        }
    }
}

static void remap(void) {
    char *elsewhere = mmap(NULL, pages * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t page = 0; page < pages; page++) {
            expect("before", page, 0, page + 1);
            expect("before", page, 1, round);
            *word(page, 1) = round + 1;
        }
        /* In the other order, so that no run of pages stays what it was. */
        for (uint64_t page = 0; page < pages; page += CHUNK) {
            char *to = elsewhere + (pages - CHUNK - page) * page_bytes;
            if (mremap(at(page), CHUNK * page_bytes, CHUNK * page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to) {
                fail("mremap: %s", strerror(errno));
            }
            volatile uint64_t *moved = (volatile uint64_t *) to;
            for (uint64_t i = 0; i < CHUNK; i++, moved += page_bytes / sizeof *moved) {
                if (moved[0] != page + i + 1 || moved[1] != round + 1) {
                    wrong("moved", page + i, moved[0] != page + i + 1 ? 0 : 1, moved[0], page + i + 1);
                }
            }
        }
        for (uint64_t page = 0; page < pages; page += CHUNK) {
            char *from = elsewhere + (pages - CHUNK - page) * page_bytes;
            if (mremap(from, CHUNK * page_bytes, CHUNK * page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(page)) != at(page)) {
                fail("mremap back: %s", strerror(errno));
            }
        }
    }
}

static void remove_all(void) {
    for (uint64_t round = 1; round <= 40; round++) {
        for (uint64_t page = round; page < pages; page += pages / 100) {
            *word(page, 0) = 7;
        }
        check(madvise(at(0), pages * page_bytes, MADV_REMOVE), "MADV_REMOVE");
        for (uint64_t i = 1; i <= 50; i++) {
            uint64_t page = i % 2 == 0 ? i : pages - i;
            expect("removed", page, 0, 0);
            *word(page, 0) = round * 1000 + page;
        }
        for (uint64_t page = round; page < pages - 50; page += pages / 100) {
            expect("removed", page, 0, page % 2 == 0 && page <= 50 ? round * 1000 + page : 0);
        }
        for (uint64_t i = 1; i <= 50; i++) {
            uint64_t page = i % 2 == 0 ? i : pages - i;
            expect("written since", page, 0, round * 1000 + page);
        }
    }
}

static void unmap(void) {
    for (uint64_t page = 0; page < pages; page++) {
        expect("before", page, 0, page + 1);
    }
    await_file();
    check(munmap(at(pages - 1), WIDE), "munmap of 16 TiB");
    for (uint64_t page = 0; page < pages - 1; page++) {
        expect("after", page, 0, page + 1);
    }
}

static void *give_up(void *unused) {
    while (!is_there()) {
        check(madvise(at(pages / 2), pages / 2 * page_bytes, MADV_REMOVE), "MADV_REMOVE");
    }
    return unused;
}

static void storm(void) {
    pthread_t threads[STORM];
    for (int i = 0; i < STORM; i++) {
        check(pthread_create(&threads[i], NULL, give_up, NULL), "pthread_create");
    }
    await_file();
    for (int i = 0; i < STORM; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint64_t page = 0; page < pages; page++) {
        expect("after the storm", page, 0, page < pages / 2 ? page + 1 : 0);
    }
}

static void on_sigbus(int number) {
    siglongjmp(after, number);
}

static void *give_up_for_ever(void *page) {
    while (page != NULL) {
        check(madvise(page, page_bytes, MADV_REMOVE), "MADV_REMOVE");
    }
    return page;
}

static void lost(void) {
    /* Half of the pages are evicted again, and leave something of their protection behind. */
    for (uint64_t page = 0; page < pages / 2; page++) {
        expect("before", page, 0, page + 1);
        *word(page, 1) = 1;
    }
    await_file();
    pthread_t other;
    check(pthread_create(&other, NULL, give_up_for_ever, at(pages - 1)), "pthread_create");
    signal(SIGBUS, on_sigbus);
    volatile uint64_t killed = 0;
    for (volatile uint64_t page = 0; page < pages - 1; page++) {
        if (sigsetjmp(after, 1) == 0) {
            expect("reader", page, 0, page + 1);
        } else {
            killed++;
        }
    }
    printf("%" PRIu64 " lost\n", killed);
}

static void *read_one(void *page) {
    (void) *(volatile uint64_t *) page;
    return page;
}

/* As QEMU and Cloud Hypervisor give pages up: the page may arrive between the hole and the message to the agent. */
static void punch(void) {
    const uint64_t page = 1;
    await_file();
    pthread_t reader;
    check(pthread_create(&reader, NULL, read_one, at(page)), "pthread_create");
    usleep(200 * 1000);
    check(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) (page * page_bytes), (off_t) page_bytes), "fallocate");
    puts("punched");
    fflush(stdout);
    pthread_join(reader, NULL);
    check(madvise(at(page), page_bytes, MADV_DONTNEED), "MADV_DONTNEED");
    *word(page, 1) = 5;
    expect("written", page, 0, 0);
    expect("written", page, 1, 5);
}

static void read_all(const char *who, unsigned own) {
    for (uint64_t page = 0; page < pages; page++) {
        expect(who, page, 0, page + 1);
        *word(page, own) = own;
    }
}

static void fork_one(void) {
    await_file();
    pid_t child = fork();
    if (child == 0) {
        alarm(TIMEOUT_S);
        read_all("child", 1);
        _exit(0);
    }
    read_all("parent", 2);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        printf("child %d ended with 0x%x\n", child, status);
        fflush(stdout);
        _exit(WRONG);
    }
    for (uint64_t page = 0; page < pages; page++) {
        expect("parent at last", page, 1, 1);
        expect("parent at last", page, 2, 2);
    }
}

static int register_memory(uint64_t events) {
    int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        fail("userfaultfd: %s", strerror(errno));
    }
    struct uffdio_api api = {.api = UFFD_API,
            .features = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MISSING_HUGETLBFS | UFFD_FEATURE_PAGEFAULT_FLAG_WP
                    | UFFD_FEATURE_WP_HUGETLBFS_SHMEM | events};
    struct uffdio_register range = {.range = {(uintptr_t) ram, pages * page_bytes},
            .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP};
    check(ioctl(fd, UFFDIO_API, &api), "UFFDIO_API");
    check(ioctl(fd, UFFDIO_REGISTER, &range), "UFFDIO_REGISTER");
    return fd;
}

static const struct {
    const char *name;
    void (*run)(void);
    uint64_t events;
} SCENARIOS[] = {
        {"split", NULL, UFFD_FEATURE_EVENT_REMOVE},
        {"populate", populate, UFFD_FEATURE_EVENT_REMOVE},
        {"replace", replace, UFFD_FEATURE_EVENT_REMOVE},
        {"remap", remap, UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP},
        {"remove", remove_all, UFFD_FEATURE_EVENT_REMOVE},
        {"unmap", unmap, UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP},
        {"storm", storm, UFFD_FEATURE_EVENT_REMOVE},
        {"lost", lost, UFFD_FEATURE_EVENT_REMOVE},
        {"punch", punch, UFFD_FEATURE_EVENT_REMOVE},
        {"fork", fork_one, UFFD_FEATURE_EVENT_FORK | UFFD_FEATURE_EVENT_REMOVE},
};

int main(int argc, char **argv) {
    if (argc < 5) {
        fail("SOCKET, backing, PAGES and a scenario are needed");
    }
    bool huge = strcmp(argv[2], "hugetlb") == 0;
    page_bytes = huge ? 2 << 20 : 4096;
    pages = strtoull(argv[3], NULL, 10);
    file_name = argc > 5 ? argv[5] : "";
    alarm(TIMEOUT_S);
    file = memfd_create(PROGRAM, huge ? MFD_HUGETLB | 21U << 26 : 0);
    if (file < 0 || ftruncate(file, (off_t) (pages * page_bytes)) != 0) {
        fail("memfd of %" PRIu64 " pages: %s", pages, strerror(errno));
    }
    ram = mmap((void *) BASE, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);
    if (ram != (void *) BASE) {
        fail("mmap of %" PRIu64 " pages: %s", pages, strerror(errno));
    }
    for (size_t i = 0; i < sizeof SCENARIOS / sizeof *SCENARIOS; i++) {
        if (strcmp(argv[4], SCENARIOS[i].name) == 0) {
            int uffd = register_memory(SCENARIOS[i].events);
            hand_over(argv[1], at(0), pages * page_bytes, page_bytes, uffd, file);
            if (i < 2) {
                split();
            }
            if (i == 0) {
                read_and_write("split");
            } else {
                SCENARIOS[i].run();
            }
            return 0;
        }
    }
    fail("no scenario '%s'", argv[4]);
}
