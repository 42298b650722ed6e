/*
 * Stands for Firecracker where it resumes a snapshot with the memory backend Uffd, written from its sources: src/vmm/src/persist.rs
 * (guest_memory_from_uffd, create_guest_memory, send_uffd_handshake) and src/vmm/src/vstate/memory.rs (anonymous, discard_range).
 *   firecracker_peer snapshot FILE PAGES              writes the memory file of a snapshot; page of 4096 bytes
 *   firecracker_peer resume SOCKET KIND PAGES... resumes it; each number of pages of 4096 bytes is a region, as below and above the hole for devices
 * Like Firecracker it asks for UFFD_FEATURE_EVENT_REMOVE alone, registers private anonymous regions for missing pages alone, sends page_size and
 * page_size_kib with the same value, never closes the connection, and expects no answer. Two threads stand for vCPUs, one for the devices, which has the kernel read and write guest memory,
 * and one for the balloon, whose pages are given up by MADV_DONTNEED and must be zeros afterwards. The balloon and hugepages exclude each other, as in Firecracker.
 * KIND is 4k, thp (MADV_HUGEPAGE) or 2m (hugetlbfs); or one of those of forks of Firecracker (e2b's, written from its branches firecracker-v1.12-direct-mem
 * and firecracker-v1.14-direct-mem), which register regions for write protection, too, and protect all of a hugetlbfs region before the handoff:
 *   fork, fork-2m                regions of one sealed memfd, and two descriptors in one control message, the userfaultfd and the memfd
 *   fork-async, fork-2m-async    the same with UFFD_FEATURE_WP_ASYNC
 *   private-async                private memory with UFFD_FEATURE_WP_ASYNC, and the userfaultfd alone
 * Forks send page_size_kib alone. A balloon in a memfd gives up by MADV_REMOVE.
 * Prints a line of JSON; exit code 3 if a word did not hold what it should.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21U << 26)
#endif
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

enum { PAGE = 4096, WORDS = PAGE / 8, MAX_REGIONS = 16, VCPUS = 2, WRONG = 3, ROLES = 5 };

/* Who may change a page: pages by their number modulo ROLES. */
enum { OF_VCPU_0, OF_VCPU_1, OF_DEVICES, OF_BALLOON, OF_NOBODY };

static struct { uint64_t *base; uint64_t first, pages; } regions[MAX_REGIONS];
static int region_count;
static uint64_t pages;
static uint64_t stride = 7919; /* a prime, and no number of pages of the tests is a multiple */
static int has_balloon, is_shared, is_fork;
static uint64_t *versions; /* of what each page holds; written by the one that may change it */
static uint64_t differences, removed;

static void fail(const char *what) {
    fprintf(stderr, "firecracker_peer: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t word(uint64_t page, uint64_t number, uint64_t version) {
    if (version == UINT64_MAX) {
        return 0;
    }
    uint64_t x = (page * WORDS + number + 1) * 0x9e3779b97f4a7c15u + version * 0xc2b2ae3d27d4eb4fu;
    x ^= x >> 31;
    return x * 0xbf58476d1ce4e5b9u;
}

static uint64_t *address(uint64_t page) {
    int i = region_count - 1;
    while (page < regions[i].first) {
        i--;
    }
    return regions[i].base + (page - regions[i].first) * WORDS;
}

static void check(const char *who, uint64_t page, const uint64_t *words) {
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t expected = word(page, i, versions[page]);
        if (words[i] != expected) {
            if (__atomic_fetch_add(&differences, 1, __ATOMIC_RELAXED) == 0) {
                fprintf(stderr, "%s: page %" PRIu64 ", word %" PRIu64 " is %" PRIx64 ", expected %" PRIx64 "\n", who, page, i, words[i],
                        expected);
            }
            return;
        }
    }
}

static void fill(uint64_t page, uint64_t version, uint64_t *words) {
    versions[page] = version;
    for (uint64_t i = 0; i < WORDS; i++) {
        words[i] = word(page, i, version);
    }
}

/* Of the snapshot: some pages are zeros, alone and all of 2 MiB. */
static uint64_t initial(uint64_t page) {
    return page % 13 == 5 || page / 512 % 4 == 3 ? UINT64_MAX : 0;
}

static uint64_t nth(uint64_t i) {
    return i * stride % pages;
}

static void *vcpu(void *number) {
    uint64_t own = (uint64_t) (uintptr_t) number;
    for (uint64_t round = 1; round <= 3; round++) {
        for (uint64_t i = 0; i < pages; i++) {
            uint64_t page = nth(own == 0 ? i : pages - 1 - i);
            if (page % ROLES == own) {
                if (i % 2 == 0) {
                    check("vcpu", page, address(page));
                }
                fill(page, round, address(page)); /* every other page is first touched by a store */
                check("vcpu", page, address(page));
            } else if (page % ROLES == OF_NOBODY) {
                check("vcpu", page, address(page));
            }
        }
    }
    return NULL;
}

/* As virtio-block does: the kernel copies from and to guest memory, which faults in the kernel. */
static void *devices(void *unused) {
    (void) unused;
    uint64_t buffer[WORDS];
    int disk = memfd_create("disk", MFD_CLOEXEC);
    for (uint64_t i = 0; i < pages; i++) {
        uint64_t page = nth(i);
        if (page % ROLES != OF_DEVICES) {
            continue;
        }
        if (pwrite(disk, address(page), PAGE, 0) != PAGE || pread(disk, buffer, PAGE, 0) != PAGE) {
            fail("a write to the disk from guest memory");
        }
        check("devices", page, buffer);
        fill(page, 9, buffer);
        if (pwrite(disk, buffer, PAGE, 0) != PAGE || pread(disk, address(page), PAGE, 0) != PAGE) {
            fail("a read from the disk into guest memory");
        }
        check("devices", page, address(page));
    }
    return NULL;
}

/* Pages that the guest has used, and pages that were never resident; both are zeros afterwards, and can be used again. */
static void *balloon(void *unused) {
    (void) unused;
    for (uint64_t round = 0; round < 2 && has_balloon; round++) {
        for (uint64_t page = OF_BALLOON; page < pages; page += ROLES) {
            if (page % 2 == 0) {
                check("balloon", page, address(page));
            }
            if (madvise(address(page), PAGE, is_shared ? MADV_REMOVE : MADV_DONTNEED) != 0) {
                fail("madvise");
            }
            versions[page] = UINT64_MAX;
            removed++;
            check("balloon", page, address(page));
            if (page % 3 == 0) {
                fill(page, 20 + round, address(page));
            }
        }
    }
    return NULL;
}

/* userfaultfd-rs takes /dev/userfaultfd if that can be opened, and the system call otherwise. */
static int open_uffd(uint64_t features) {
    int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    int uffd = device >= 0 ? ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK)
                           : (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0) {
        fail("userfaultfd");
    }
    return uffd;
}

/* memory: descriptor of the memfd; -1: none is sent. */
static void send_handshake(const char *path, const char *json, int uffd, int memory) {
    int descriptors[] = {uffd, memory};
    size_t size = (memory < 0 ? 1 : 2) * sizeof uffd;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, path, sizeof to.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &to, sizeof to) != 0) {
        fail(path);
    }
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof descriptors)];
    } control = {0};
    struct iovec vector = {(void *) json, strlen(json)};
    struct msghdr message = {
            .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = CMSG_SPACE(size)};
    control.header = (struct cmsghdr) {.cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), descriptors, size);
    if (sendmsg(fd, &message, MSG_NOSIGNAL) != (ssize_t) strlen(json)) {
        fail("sendmsg");
    }
}

/* A memfd of all regions, which can be neither resized nor sealed any further. */
static int create_memory(int huge, char **sizes, int count) {
    int memory = memfd_create("guest_mem", MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0));
    off_t size = 0;
    for (int i = 0; i < count; i++) {
        size += (off_t) strtoull(sizes[i], NULL, 10) * PAGE;
    }
    if (memory < 0 || ftruncate(memory, size) != 0 || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
            fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL) != 0) {
        fail("the memfd");
    }
    return memory;
}

static int resume(const char *socket, const char *kind, char **sizes, int count) {
    int huge = strstr(kind, "2m") != NULL;
    size_t page_size = huge ? 2 << 20 : PAGE;
    char page_size_field[64] = "";
    char json[4096] = "[";
    is_shared = strncmp(kind, "fork", 4) == 0;
    stride = is_shared && huge ? 1 : stride; /* each page would be evicted hundreds of times */
    is_fork = is_shared || strcmp(kind, "private-async") == 0;
    if (!is_fork) {
        snprintf(page_size_field, sizeof page_size_field, ",\"page_size\":%zu", page_size);
    }
    int uffd = open_uffd(UFFD_FEATURE_EVENT_REMOVE | (is_fork ? UFFD_FEATURE_MISSING_HUGETLBFS : 0) |
                         (strstr(kind, "async") != NULL ? UFFD_FEATURE_WP_ASYNC : 0));
    int memory = is_shared ? create_memory(huge, sizes, count) : -1;
    for (int i = 0; i < count; i++) {
        uint64_t n = strtoull(sizes[i], NULL, 10);
        void *base = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE,
                MAP_NORESERVE | (is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | (huge ? MAP_HUGETLB | 21 << MAP_HUGE_SHIFT : 0),
                memory, is_shared ? (off_t) pages * PAGE : 0);
        if (base == MAP_FAILED || (strcmp(kind, "thp") == 0 && madvise(base, n * PAGE, MADV_HUGEPAGE) != 0)) {
            fail("mmap");
        }
        struct uffdio_register area = {
                .range = {(uintptr_t) base, n * PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING | (is_fork ? UFFDIO_REGISTER_MODE_WP : 0)};
        if (ioctl(uffd, UFFDIO_REGISTER, &area) != 0) {
            fail("UFFDIO_REGISTER");
        }
        struct uffdio_writeprotect all = {.range = area.range, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
        if (is_fork && huge && ioctl(uffd, UFFDIO_WRITEPROTECT, &all) != 0) {
            fail("UFFDIO_WRITEPROTECT");
        }
        regions[region_count].base = base;
        regions[region_count].first = pages;
        regions[region_count++].pages = n;
        snprintf(json + strlen(json), sizeof json - strlen(json),
                "%s{\"base_host_virt_addr\":%" PRIuPTR ",\"size\":%" PRIu64 ",\"offset\":%" PRIu64 "%s,\"page_size_kib\":%zu}",
                i == 0 ? "" : ",", (uintptr_t) base, n * PAGE, pages * PAGE, page_size_field, page_size);
        pages += n;
    }
    strcat(json, "]");
    has_balloon = !huge;
    versions = calloc(pages, sizeof *versions);
    for (uint64_t page = 0; page < pages; page++) {
        versions[page] = initial(page);
    }
    send_handshake(socket, json, uffd, memory);

    pthread_t threads[VCPUS + 2];
    for (uintptr_t i = 0; i < VCPUS; i++) {
        pthread_create(&threads[i], NULL, vcpu, (void *) i);
    }
    pthread_create(&threads[VCPUS], NULL, devices, NULL);
    pthread_create(&threads[VCPUS + 1], NULL, balloon, NULL);
    for (int i = 0; i < VCPUS + 2; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint64_t page = 0; page < pages; page++) {
        check("at the end", page, address(page));
    }
    printf("{\"pages\":%" PRIu64 ",\"regions\":%d,\"removed\":%" PRIu64 ",\"differences\":%" PRIu64 "}\n", pages, region_count, removed,
            differences);
    fflush(stdout);
    return differences == 0 ? 0 : WRONG;
}

static int snapshot(const char *path, uint64_t count) {
    FILE *file = fopen(path, "w");
    uint64_t words[WORDS];
    versions = calloc(count, sizeof *versions);
    for (uint64_t page = 0; file != NULL && page < count; page++) {
        fill(page, initial(page), words);
        if (fwrite(words, PAGE, 1, file) != 1) {
            fail(path);
        }
    }
    if (file == NULL || fclose(file) != 0) {
        fail(path);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "snapshot") == 0) {
        return snapshot(argv[2], strtoull(argv[3], NULL, 10));
    }
    if (argc < 5 || argc > 4 + MAX_REGIONS || strcmp(argv[1], "resume") != 0) {
        fprintf(stderr, "firecracker_peer snapshot FILE PAGES | resume SOCKET KIND PAGES...\n");
        return 2;
    }
    return resume(argv[2], argv[3], argv + 4, argc - 4);
}
