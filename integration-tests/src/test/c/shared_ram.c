/*
 * Stands for a VMM: maps a memfd as its RAM, and uses it.
 *   shared_ram NAME PAGES[h] [WORD...]
 * An h: pages of 2 MiB, of hugetlbfs, none of them set aside (QEMU: memory-backend-memfd,hugetlb=on,reserve=off).
 * First every page holds its number plus one, if a pager fills it so, or zeros. Each word is a thing to do:
 *   read     expect every page to hold its number plus one
 *   zeros    expect every page to hold zeros
 *   rounds   write and check all pages three times, each time something else
 *   balloon  give all pages back as QEMU's balloon does: fallocate(2), then MADV_DONTNEED
 *   punch    give all pages back with fallocate(2) alone
 *   remove   give all pages back with MADV_REMOVE
 *   free     give all pages back with MADV_FREE, and expect that shared memory has no such thing
 *   drop     drop the mapping of all pages with MADV_DONTNEED alone, which leaves the contents of shared memory as they are
 *   straddle the same from 16 pages before the RAM on, of which the RAM is a part
 *   huge     ask for huge pages, now and for later, and say what the kernel has noted down (proc_pid_smaps(5))
 *   send     send the memfd to another process in every way that the C library has, and expect EBUSY; other files can be sent
 *   unmap    unmap the RAM
 *   again    map the RAM a second time, shared and private, and expect EBUSY
 *   another  map another memfd of the same name, and say what came of it
 *   private  map 64 MiB of private memory, and 64 MiB that are executable
 *   userfaultfd  ask for a userfaultfd in both ways, and expect EBUSY
 *   fork     have a child read the first page, and expect that it cannot
 *   direct   open a file with O_DIRECT in every way that the C library has, and say how many of those opened have it
 *   inherited  say how many descriptors have O_DIRECT
 *   wait     wait until the file that $SHARED_RAM_GO names exists
 *   kept     expect every page to hold what rounds left
 *   shared_ram with-direct FILE COMMAND...
 * Opens FILE with O_DIRECT and becomes the command, which inherits the descriptor.
 *   shared_ram without-userfaultfd COMMAND...
 * Becomes the command, for which userfaultfd(2) is ENOSYS.
 * Prints a line for each that went well; exit code 3 for the first that did not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4U
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static unsigned long page_bytes = 4096;
static volatile unsigned long *ram;
static unsigned long pages;

static void expect(const char *what, unsigned long page, unsigned long expected) {
    unsigned long found = ram[page * page_bytes / sizeof *ram];
    if (found != expected) {
        printf("%s: page %lu holds %lu, expected %lu\n", what, page, found, expected);
        exit(3);
    }
}

static void rounds(void) {
    for (unsigned long round = 1; round <= 3; round++) {
        for (unsigned long page = 0; page < pages; page++) {
            if (round > 1) {
                expect("rounds", page, page * 1000 + round - 1);
            }
            ram[page * page_bytes / sizeof *ram] = page * 1000 + round;
        }
    }
}

static void fork_child(void) {
    pid_t child = fork();
    if (child == 0) {
        _exit((int) (*ram & 1));
    }
    int status;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) {
        printf("fork: the child read the RAM, exit code %d\n", WEXITSTATUS(status));
        exit(3);
    }
}

/* Those that end with _2 are what _FORTIFY_SOURCE makes of calls with flags that are not constant. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

static int has_direct_io(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags != -1 && (flags & O_DIRECT) != 0;
}

static void open_direct(void) {
    char path[] = "shared-ram-XXXXXX";
    int made = mkstemp(path);
    int plain = open(path, O_RDONLY);
    int set = fcntl(plain, F_SETFL, O_DIRECT) == 0 ? plain : -1;
    int all[] = {open(path, O_RDONLY | O_DIRECT), open64(path, O_RDONLY | O_DIRECT), open(path, O_RDWR | O_CREAT | O_DIRECT, 0600),
        openat(AT_FDCWD, path, O_RDONLY | O_DIRECT), openat64(AT_FDCWD, path, O_RDONLY | O_DIRECT), __open_2(path, O_DIRECT),
        __openat_2(AT_FDCWD, path, O_DIRECT), __openat64_2(AT_FDCWD, path, O_DIRECT), set};
    int opened = 0, direct = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        opened += all[i] >= 0;
        direct += all[i] >= 0 && has_direct_io(all[i]);
    }
    for (size_t i = 0; i + 1 < sizeof all / sizeof *all; i++) {
        close(all[i]);
    }
    close(plain);
    close(made);
    unlink(path);
    printf("direct: %d of %d\n", direct, opened);
}

static void count_inherited(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        count += has_direct_io(fd);
    }
    printf("inherited: %d\n", count);
}

static void expect_busy(const char *what, int failed) {
    if (!failed || errno != EBUSY) {
        printf("%s: %s\n", what, failed ? strerror(errno) : "is not refused");
        exit(3);
    }
}

static void map_again(int fd) {
    int protection = PROT_READ | PROT_WRITE;
    expect_busy("again, shared", mmap(NULL, pages * page_bytes, protection, MAP_SHARED, fd, 0) == MAP_FAILED);
    expect_busy("again, private", mmap(NULL, pages * page_bytes, protection, MAP_PRIVATE, fd, 0) == MAP_FAILED);
}

static void map_another(const char *name) {
    int fd = memfd_create(name, 0);
    if (fd < 0 || ftruncate(fd, (off_t) (pages * page_bytes)) != 0) {
        perror("memfd");
        exit(2);
    }
    char *other = mmap(NULL, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    printf("another: %s\n", other == MAP_FAILED ? strerror(errno) : *other == 0 ? "local" : "not zeros");
}

static void map_private(void) {
    mmap(NULL, 64UL << 20, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mmap(NULL, 64UL << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void expect_advice(const char *what, void *from, size_t length, int advice, int expected) {
    int failed = madvise(from, length, advice) == 0 ? 0 : errno;
    if (failed != expected) {
        printf("%s: %s, expected %s\n", what, strerror(failed), strerror(expected));
        exit(3);
    }
}

/* Private memory just before the RAM is part of what is given up, and holds zeros afterwards. */
static void straddle(void) {
    size_t before = 16 * page_bytes;
    char *start = (char *) ram - before;
    if (mmap(start, before, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != start) {
        perror("mmap before the RAM");
        exit(2);
    }
    memset(start, 1, before);
    expect_advice("straddle", start, before + pages * page_bytes, MADV_DONTNEED, 0);
    if (*start != 0 || start[before - 1] != 0) {
        printf("straddle: the memory before the RAM was kept\n");
        exit(3);
    }
    munmap(start, before);
}

static void ask_for_huge_pages(void) {
    expect_advice("huge", (void *) ram, pages * page_bytes, MADV_HUGEPAGE, 0);
    expect_advice("collapse", (void *) ram, pages * page_bytes, MADV_COLLAPSE, EINVAL);
    FILE *smaps = fopen("/proc/self/smaps", "r");
    char line[512];
    int within = 0;
    while (smaps != NULL && fgets(line, sizeof line, smaps) != NULL) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
            within = start == (unsigned long) ram;
        } else if (within && strncmp(line, "VmFlags:", 8) == 0) {
            printf("huge pages: %s\n", strstr(line, " nh") != NULL ? "off" : strstr(line, " hg") != NULL ? "on" : "as they were");
        }
    }
    fclose(smaps);
}

static void send_file(int fd, int many, int expected) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) {
        perror("socketpair");
        exit(2);
    }
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof fd)];
    } control = {0};
    struct iovec text = {.iov_base = "x", .iov_len = 1};
    struct mmsghdr message = {.msg_hdr = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control}};
    control.header = (struct cmsghdr) {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(2 * sizeof fd)};
    memcpy(CMSG_DATA(&control.header), (int[]) {ends[1], fd}, 2 * sizeof fd);
    long sent = many ? sendmmsg(ends[0], &message, 1, 0) : sendmsg(ends[0], &message.msg_hdr, 0);
    int failed = sent < 0 ? errno : 0;
    if (failed != expected) {
        printf("send: %s, expected %s\n", strerror(failed), strerror(expected));
        exit(3);
    }
    close(ends[0]);
    close(ends[1]);
}

static void ask_for_a_userfaultfd(void) {
    expect_busy("userfaultfd(2)", syscall(SYS_userfaultfd, O_CLOEXEC) < 0);
    expect_busy("/dev/userfaultfd", open("/dev/userfaultfd", O_RDWR) < 0);
}

static int without_userfaultfd(char **command) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof steps / sizeof *steps, .filter = steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("seccomp");
        return 2;
    }
    execvp(*command, command);
    return 2;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "without-userfaultfd") == 0) {
        return without_userfaultfd(argv + 2);
    }
    if (argc > 3 && strcmp(argv[1], "with-direct") == 0) {
        if (open(argv[2], O_RDONLY | O_DIRECT) < 0) {
            perror(argv[2]);
            return 2;
        }
        execvp(argv[3], argv + 3);
        return 2;
    }
    char *unit;
    pages = strtoul(argv[2], &unit, 10);
    if (*unit == 'h') {
        page_bytes = 2UL << 20;
    }
    int fd = memfd_create(argv[1], *unit == 'h' ? MFD_HUGETLB | 21U << 26 : 0);
    if (fd < 0 || ftruncate(fd, (off_t) (pages * page_bytes)) != 0) {
        perror("memfd");
        return 2;
    }
    ram = mmap(NULL, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE | MAP_NORESERVE, fd, 0);
    if (ram == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "read") == 0 || strcmp(argv[i], "zeros") == 0) {
            for (unsigned long page = 0; page < pages; page++) {
                expect(argv[i], page, argv[i][0] == 'r' ? page + 1 : 0);
            }
        } else if (strcmp(argv[i], "rounds") == 0) {
            rounds();
        } else if (strcmp(argv[i], "balloon") == 0) {
            if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t) (pages * page_bytes)) != 0
                || madvise((void *) ram, pages * page_bytes, MADV_DONTNEED) != 0) {
                perror("balloon");
                return 2;
            }
        } else if (strcmp(argv[i], "punch") == 0) {
            if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t) (pages * page_bytes)) != 0) {
                perror("punch");
                return 2;
            }
        } else if (strcmp(argv[i], "remove") == 0) {
            if (madvise((void *) ram, pages * page_bytes, MADV_REMOVE) != 0) {
                perror("remove");
                return 2;
            }
        } else if (strcmp(argv[i], "free") == 0) {
            expect_advice("free", (void *) ram, pages * page_bytes, MADV_FREE, EINVAL);
        } else if (strcmp(argv[i], "drop") == 0) {
            expect_advice("drop", (void *) ram, pages * page_bytes, MADV_DONTNEED, 0);
        } else if (strcmp(argv[i], "straddle") == 0) {
            straddle();
        } else if (strcmp(argv[i], "huge") == 0) {
            ask_for_huge_pages();
        } else if (strcmp(argv[i], "send") == 0) {
            for (int many = 0; many <= 1; many++) {
                send_file(STDOUT_FILENO, many, 0);
                send_file(fd, many, EBUSY);
            }
        } else if (strcmp(argv[i], "unmap") == 0) {
            munmap((void *) ram, pages * page_bytes);
        } else if (strcmp(argv[i], "again") == 0) {
            map_again(fd);
        } else if (strcmp(argv[i], "another") == 0) {
            map_another(argv[1]);
        } else if (strcmp(argv[i], "private") == 0) {
            map_private();
        } else if (strcmp(argv[i], "userfaultfd") == 0) {
            ask_for_a_userfaultfd();
        } else if (strcmp(argv[i], "direct") == 0) {
            open_direct();
        } else if (strcmp(argv[i], "inherited") == 0) {
            count_inherited();
        } else if (strcmp(argv[i], "fork") == 0) {
            fork_child();
        } else if (strcmp(argv[i], "wait") == 0) {
            while (access(getenv("SHARED_RAM_GO"), F_OK) != 0) {
                usleep(10000);
            }
        } else if (strcmp(argv[i], "kept") == 0) {
            for (unsigned long page = 0; page < pages; page++) {
                expect(argv[i], page, page * 1000 + 3);
            }
        }
        printf("%s\n", argv[i]);
        fflush(stdout);
    }
    return 0;
}
