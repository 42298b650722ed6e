/*
 * libfarpage-preload.so: puts the RAM of an unmodified VMM on remote memory.
 *
 * Loaded with LD_PRELOAD, it watches mmap(2) for the shared mapping of a memfd or of a file in /dev/shm that is guest RAM, registers
 * that with a userfaultfd, and hands the userfaultfd and the memfd to a page agent over a Unix socket, in Firecracker's form. From
 * then on the agent resolves the faults. See docs/vmm-integration.md.
 *
 *   FARPAGE_SOCKET      where the agent listens (page-agent attach --socket); required
 *   FARPAGE_MEMFD_NAME  which mapping: the memfd's or file's name, or a pattern of fnmatch(3); default memory-backend-memfd (QEMU's)
 *   FARPAGE_MIN_SIZE    which mapping instead: any of at least this many bytes (with k, m or g: KiB, MiB or GiB)
 *   FARPAGE_PAGERS      into how many parts, each with a userfaultfd of its own, so that several of the agent's threads may serve it; default 1
 *   FARPAGE_REQUIRED    1 (default): what goes wrong ends the process; 0: it is reported, and the memory stays local
 *   FARPAGE_DIRECT_IO   buffered (default): files are opened without O_DIRECT; refuse: to open one with O_DIRECT fails with EINVAL
 *
 * A device that writes to guest RAM by direct I/O does so past the page table, also to pages that the agent has taken out meanwhile. So
 * the library watches open(2), openat(2) and fcntl(2) too. What it cannot see, such as openat2(2) by syscall(2), the agent does, which
 * then evicts nothing that may be written to.
 *
 * A balloon gives pages up by fallocate(2) and then MADV_DONTNEED (QEMU, Cloud Hypervisor). The agent hears of the second only, and a page
 * that it fetches between the two would come back. So the first becomes MADV_REMOVE, of which the kernel tells the agent first. The second
 * does nothing: it leaves the contents of shared memory as they are, and yet the kernel reports it to the agent as a removal.
 *
 * One mapping of one memory backend is handed over. A second mapping of its memory fails with EBUSY, and so does the mapping of another
 * backend if farpage is required. To send its descriptor to another process (vhost-user) fails with EBUSY. A second userfaultfd (postcopy
 * migration, background snapshots) fails with EBUSY, too. An agent that does not answer ends the process in any case.
 */
#define _GNU_SOURCE
/* Its inline open(2) would be in the way of the one defined below. */
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

#define PREFIX "farpage-preload: "
#define HUGETLBFS 0x958458f6
#define SEND_SECONDS 10
/* An agent on a busy machine takes its time over its first guest. */
#define ANSWER_SECONDS 120
#define WORTH_A_WARNING (16UL << 20)
/* Of private memory: a program maps more of it for itself. */
#define PRIVATE_WORTH_A_WARNING (64UL << 20)
#define MAX_PAGERS 16UL
#define HUGE_PAGE (2UL << 20)

/*
 * The agent has to hear of pages that a balloon gives back (REMOVE), and of RAM that goes away or moves (UNMAP, REMAP): a page that
 * moved out of its sight would read as zeros. It cannot have fork events, which need CAP_SYS_PTRACE; RAM is not inherited instead.
 */
#define FEATURES \
    (UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MISSING_HUGETLBFS | UFFD_FEATURE_PAGEFAULT_FLAG_WP \
     | UFFD_FEATURE_WP_HUGETLBFS_SHMEM | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP)

typedef void *mmap_function(void *, size_t, int, int, int, off64_t);

static atomic_flag handed_over = ATOMIC_FLAG_INIT;

/* Guest RAM that an agent pages; its length is 0 until then. No bytes are mapped once the process has unmapped it as a whole. */
static struct {
    uintptr_t start;
    off64_t offset;
    dev_t device;
    ino_t inode;
    atomic_size_t length;
    atomic_size_t mapped;
} paged;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    /* One write, past the process's own buffers. */
    dprintf(STDERR_FILENO, PREFIX "%.*s\n", length, line);
}

static bool required(void) {
    const char *value = getenv("FARPAGE_REQUIRED");
    return value == NULL || strcmp(value, "0") != 0;
}

/* Ends the process or, if farpage is not required, tells that the memory stays local. */
static void give_up(void) {
    if (required()) {
        say("ending the process: its RAM would be local memory (FARPAGE_REQUIRED=0 allows that)");
        _exit(EXIT_FAILURE);
    }
    say("its RAM is local memory");
}

enum direct_io { BUFFERED, REFUSED, UNKNOWN };

/* FARPAGE_DIRECT_IO. */
static enum direct_io direct_io(void) {
    const char *value = getenv("FARPAGE_DIRECT_IO");
    if (value == NULL || *value == '\0' || strcmp(value, "buffered") == 0) {
        return BUFFERED;
    }
    return strcmp(value, "refuse") == 0 ? REFUSED : UNKNOWN;
}

/* Bytes of FARPAGE_MIN_SIZE; SIZE_MAX if it is not set. */
static size_t min_size(void) {
    const char *text = getenv("FARPAGE_MIN_SIZE");
    if (text == NULL || *text == '\0') {
        return SIZE_MAX;
    }
    static const char units[] = "kmg";
    char *end;
    errno = 0;
    unsigned long long bytes = strtoull(text, &end, 10);
    const char *unit = *end == '\0' ? NULL : strchr(units, *end | 0x20);
    int shift = unit == NULL ? 0 : (int) (10 * (unit - units + 1));
    bool whole = *end == '\0' || (unit != NULL && end[1] == '\0');
    if (errno != 0 || end == text || *text == '-' || !whole || bytes == 0 || bytes > SIZE_MAX >> shift) {
        say("FARPAGE_MIN_SIZE is '%s'; it must be a number of bytes such as 268435456 or 256m", text);
        give_up();
        return SIZE_MAX;
    }
    return (size_t) bytes << shift;
}

/* FARPAGE_PAGERS; 0 when the reason has been said. */
static size_t pager_count(void) {
    const char *text = getenv("FARPAGE_PAGERS");
    if (text == NULL || *text == '\0') {
        return 1;
    }
    char *end;
    errno = 0;
    unsigned long count = strtoul(text, &end, 10);
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || count == 0 || count > MAX_PAGERS) {
        say("FARPAGE_PAGERS is '%s'; it must be a number from 1 to %lu", text, MAX_PAGERS);
        return 0;
    }
    return count;
}

/* The name of the memfd or of the file in /dev/shm, in buffer; NULL if it is neither. */
static const char *shared_memory_name(int fd, char *buffer, size_t size) {
    static const char *const places[] = {"/memfd:", "/dev/shm/"};
    static const char deleted[] = " (deleted)";
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, buffer, size - 1);
    if (length < 0) {
        return NULL;
    }
    buffer[length] = '\0';
    size_t tail = sizeof deleted - 1;
    if ((size_t) length > tail && strcmp(buffer + length - tail, deleted) == 0) {
        buffer[length - tail] = '\0';
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (strncmp(buffer, places[i], strlen(places[i])) == 0) {
            return buffer + strlen(places[i]);
        }
    }
    return NULL;
}

/* Whether a mapping to be made is guest RAM. */
static bool is_guest_ram(size_t length, int flags, int fd) {
    int type = flags & MAP_TYPE;
    if (fd < 0 || (flags & MAP_ANONYMOUS) || (type != MAP_SHARED && type != MAP_SHARED_VALIDATE)) {
        return false;
    }
    char buffer[512];
    const char *name = shared_memory_name(fd, buffer, sizeof buffer);
    if (name == NULL) {
        return false;
    }
    size_t least = min_size();
    if (least != SIZE_MAX) {
        return length >= least;
    }
    const char *pattern = getenv("FARPAGE_MEMFD_NAME");
    pattern = pattern == NULL ? "memory-backend-memfd" : pattern;
    bool matches = fnmatch(pattern, name, 0) == 0;
    if (!matches && length >= WORTH_A_WARNING) {
        say("%zu MiB of shared memory '%s' stay local; if that is guest RAM, set FARPAGE_MEMFD_NAME='%s' (it is '%s')",
            length >> 20, name, name, pattern);
    }
    return matches;
}

/* A userfaultfd with FEATURES, or -1 when the reason has been said. */
static int open_userfaultfd(void) {
    int uffd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (uffd < 0 && (errno == EPERM || errno == ENOSYS)) { /* ENOSYS: a seccomp filter, as containers have it */
        int refused = errno;
        int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
        if (device < 0) {
            say("userfaultfd(2) is %s, and /dev/userfaultfd: %s; allow one of: setfacl -m u:%u:rw /dev/userfaultfd, "
                "sysctl vm.unprivileged_userfaultfd=1, CAP_SYS_PTRACE", refused == EPERM ? "not permitted" : "not available",
                strerror(errno), getuid());
            return -1;
        }
        uffd = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
        close(device);
    }
    if (uffd < 0) {
        say("userfaultfd(2): %s", strerror(errno));
        return -1;
    }
    struct uffdio_api api = {.api = UFFD_API, .features = FEATURES};
    if (ioctl(uffd, UFFDIO_API, &api) != 0) {
        say("UFFDIO_API with features %#llx: %s; Linux 5.19 or newer with CONFIG_PTE_MARKER_UFFD_WP is needed",
            (unsigned long long) FEATURES, strerror(errno));
        close(uffd);
        return -1;
    }
    return uffd;
}

static int advise(void *address, size_t length, int advice) {
    int (*next)(void *, size_t, int);
    *(void **) &next = dlsym(RTLD_NEXT, "madvise");
    return next(address, length, advice);
}

static bool register_memory(int uffd, void *address, size_t length) {
    struct uffdio_register range = {
        .range = {.start = (uintptr_t) address, .len = length},
        .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP,
    };
    if (ioctl(uffd, UFFDIO_REGISTER, &range) != 0) {
        say("UFFDIO_REGISTER of %zu bytes at %p: %s", length, address, strerror(errno));
        return false;
    }
    /* A child that touched a missing page would put a page of zeros into the memory that it shares. */
    if (madvise(address, length, MADV_DONTFORK) != 0) {
        say("madvise(MADV_DONTFORK) of %zu bytes at %p: %s", length, address, strerror(errno));
        return false;
    }
    /*
     * A hole punched into a huge page that the kernel cannot split leaves zeros in the file, which the next access finds instead of a fault.
     * EINVAL: the kernel has no such pages, or the RAM has pages of hugetlbfs.
     */
    if (advise(address, length, MADV_NOHUGEPAGE) != 0 && errno != EINVAL) {
        say("madvise(MADV_NOHUGEPAGE) of %zu bytes at %p: %s", length, address, strerror(errno));
        return false;
    }
    return true;
}

/* A socket connected to the agent, or -1 when the reason has been said. */
static int connect_to_agent(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        say("FARPAGE_SOCKET is '%s'; a socket's path has at most %zu bytes", path, sizeof address.sun_path - 1);
        return -1;
    }
    strcpy(address.sun_path, path);
    int agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (agent < 0) {
        say("socket(AF_UNIX): %s", strerror(errno));
        return -1;
    }
    struct timeval to_send = {.tv_sec = SEND_SECONDS}, to_answer = {.tv_sec = ANSWER_SECONDS};
    setsockopt(agent, SOL_SOCKET, SO_SNDTIMEO, &to_send, sizeof to_send);
    setsockopt(agent, SOL_SOCKET, SO_RCVTIMEO, &to_answer, sizeof to_answer);
    if (connect(agent, (struct sockaddr *) &address, sizeof address) != 0) {
        if (errno == EACCES) {
            say("FARPAGE_SOCKET '%s': %s; let user %u write to the socket and search its directories", path, strerror(errno), getuid());
        } else {
            say("no agent listens at FARPAGE_SOCKET '%s': %s; run: page-agent attach --space NAME --socket %s ...",
                path, strerror(errno), path);
        }
        close(agent);
        return -1;
    }
    return agent;
}

/* Bytes of a page of the file. */
static size_t page_size(int memfd) {
    struct statfs file;
    return fstatfs(memfd, &file) == 0 && file.f_type == HUGETLBFS ? (size_t) file.f_bsize : (size_t) getpagesize();
}

/* A part of guest RAM and the userfaultfd that it is registered with. */
struct part {
    int uffd;
    size_t start;
    size_t length;
};

struct parts {
    size_t count;
    struct part part[MAX_PAGERS];
};

/* Cuts memory into parts of about the same size, between huge pages where there are enough of them, so that none is in two parts. */
static void cut(struct parts *parts, size_t wanted, size_t length, size_t page) {
    size_t unit = length / HUGE_PAGE >= wanted && HUGE_PAGE > page ? HUGE_PAGE : page;
    size_t units = length / unit;
    parts->count = wanted < units ? wanted : units;
    for (size_t i = 0; i < parts->count; i++) {
        size_t start = units * i / parts->count * unit;
        size_t end = i + 1 == parts->count ? length : units * (i + 1) / parts->count * unit;
        parts->part[i] = (struct part) {.uffd = -1, .start = start, .length = end - start};
    }
}

/* Closing a userfaultfd takes the registration back. */
static void close_parts(const struct parts *parts) {
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->part[i].uffd >= 0) {
            close(parts->part[i].uffd);
        }
    }
}

static bool register_parts(struct parts *parts, void *address) {
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->part[i];
        part->uffd = open_userfaultfd();
        if (part->uffd < 0 || !register_memory(part->uffd, (char *) address + part->start, part->length)) {
            return false;
        }
    }
    return true;
}

/* The regions, in JSON, in text. Bytes of it, without the terminating zero. */
static size_t describe(char *text, size_t size, const struct parts *parts, const void *address, size_t page, off64_t offset) {
    size_t held = 0;
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->part[i];
        held += (size_t) snprintf(text + held, size - held,
            "%s{\"base_host_virt_addr\":%zu,\"size\":%zu,\"offset\":%lld,\"page_size\":%zu,\"page_size_kib\":%zu",
            i == 0 ? "[" : ",", (size_t) (uintptr_t) address + part->start, part->length,
            (long long) offset + (long long) part->start, page, page);
        if (parts->count > 1) {
            held += (size_t) snprintf(text + held, size - held, ",\"userfaultfd\":%zu", i);
        }
        held += (size_t) snprintf(text + held, size - held, "}");
    }
    return held + (size_t) snprintf(text + held, size - held, "]");
}

/* One message: where the memory is, and the descriptors: the userfaultfds and then the memfd. */
static bool send_handoff(int agent, const struct parts *parts, int memfd, const void *address, size_t page, off64_t offset) {
    char json[MAX_PAGERS * 256];
    size_t bytes = describe(json, sizeof json, parts, address, page, offset);
    int descriptors[MAX_PAGERS + 1];
    for (size_t i = 0; i < parts->count; i++) {
        descriptors[i] = parts->part[i].uffd;
    }
    descriptors[parts->count] = memfd;
    size_t described = (parts->count + 1) * sizeof *descriptors;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof descriptors)];
    } control = {0};
    struct iovec text = {.iov_base = json, .iov_len = bytes};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(described)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(described);
    memcpy(CMSG_DATA(rights), descriptors, described);
    ssize_t sent = sendmsg(agent, &message, MSG_NOSIGNAL);
    if (sent != (ssize_t) bytes) {
        say("sendmsg to the agent: %s", sent < 0 ? strerror(errno) : "it took only part of the message");
        return false;
    }
    return true;
}

/* Whether the agent took the memory: then it closes the connection without a word, otherwise after the reason. */
static bool taken(int agent, const char *path) {
    char reason[512];
    size_t held = 0;
    ssize_t got;
    while ((got = recv(agent, reason + held, sizeof reason - 1 - held, 0)) > 0 || (got < 0 && errno == EINTR)) {
        held += got > 0 ? (size_t) got : 0;
    }
    if (held == 0 && got < 0 && errno != ECONNRESET) {
        /* Whether farpage is required or not: the agent may take the memory yet, and so would have it beside the process. */
        say("ending the process: no answer from the agent at %s within %d s", path, ANSWER_SECONDS);
        _exit(EXIT_FAILURE);
    }
    reason[held] = '\0';
    reason[strcspn(reason, "\n")] = '\0';
    if (held > 0) {
        say("the agent at %s refused the memory: %s", path, reason);
    } else if (got < 0) {
        say("the agent at %s ended amid the handoff", path);
    }
    return held == 0 && got == 0;
}

/* Says once that a file is not opened as it was asked for. */
static void say_buffered(const char *what) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said)) {
        say("%s is used without O_DIRECT, and so is every other file: direct I/O would write to guest RAM past the pager; flushes are as "
            "before (FARPAGE_DIRECT_IO=refuse refuses such files)", what);
    }
}

/* Takes O_DIRECT from descriptors that were there before the library: inherited ones, or what other libraries opened. */
static void clear_direct_io(void) {
    DIR *all = opendir("/proc/self/fd");
    if (all == NULL) {
        say("/proc/self/fd: %s; files that were open before are used as they are", strerror(errno));
        return;
    }
    for (struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
        int fd = atoi(entry->d_name);
        int flags = *entry->d_name == '.' ? -1 : (int) syscall(SYS_fcntl, fd, F_GETFL);
        if (flags != -1 && (flags & O_DIRECT) && syscall(SYS_fcntl, fd, F_SETFL, flags & ~O_DIRECT) == 0) {
            say_buffered("a file that was open already");
        }
    }
    closedir(all);
}

static bool hand_over(void *address, size_t asked, int memfd, off64_t offset) {
    size_t page = page_size(memfd);
    size_t length = (asked + page - 1) / page * page;
    const char *path = getenv("FARPAGE_SOCKET");
    if (path == NULL || *path == '\0') {
        say("FARPAGE_SOCKET is not set; it names the socket of: page-agent attach --space NAME --socket PATH ...");
        return false;
    }
    size_t pagers = pager_count();
    if (pagers == 0) {
        return false;
    }
    if (direct_io() == UNKNOWN) {
        say("FARPAGE_DIRECT_IO is '%s'; it must be buffered or refuse", getenv("FARPAGE_DIRECT_IO"));
        return false;
    }
    clear_direct_io();
    int agent = connect_to_agent(path);
    struct parts parts;
    cut(&parts, pagers, length, page);
    bool done = agent >= 0 && register_parts(&parts, address) && send_handoff(agent, &parts, memfd, address, page, offset)
        && taken(agent, path);
    if (agent >= 0) {
        close(agent);
    }
    if (!done) {
        close_parts(&parts);
        return false;
    }
    /*
     * The userfaultfds stay open as long as the process: if the agent held the last reference, its end would unregister the memory and the
     * guest would read zeros; as it is, the guest waits.
     */
    struct stat file;
    if (fstat(memfd, &file) == 0) {
        paged.start = (uintptr_t) address;
        paged.offset = offset;
        paged.device = file.st_dev;
        paged.inode = file.st_ino;
        atomic_store(&paged.mapped, length);
        atomic_store(&paged.length, length);
    }
    say("%zu MiB of guest RAM are on remote memory through %s", length >> 20, path);
    return true;
}

/* Whether a descriptor is the file of paged RAM. */
static bool is_paged_file(int fd) {
    struct stat file;
    return atomic_load(&paged.length) != 0 && fd >= 0 && fstat(fd, &file) == 0 && file.st_dev == paged.device
        && file.st_ino == paged.inode;
}

/* Says once that private memory, which cannot be handed over, may be the RAM that was meant. */
static void say_private(size_t length, int protection, int flags, int fd) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    bool is_private = (flags & MAP_TYPE) == MAP_PRIVATE && length >= PRIVATE_WORTH_A_WARNING
        && (protection & (PROT_READ | PROT_WRITE | PROT_EXEC)) == (PROT_READ | PROT_WRITE);
    char buffer[512];
    if (!is_private || atomic_load(&paged.length) != 0 || ((flags & MAP_ANONYMOUS) == 0 && !shared_memory_name(fd, buffer, sizeof buffer))
        || atomic_flag_test_and_set(&said)) {
        return;
    }
    say("nothing has been handed over, and %zu MiB of private memory stay local; if that is guest RAM, map it shared "
        "(QEMU: memory-backend-memfd with share=on)", length >> 20);
}

/* A range of addresses is no longer what it was: if it covers all guest RAM, its addresses may be those of other memory from now on. */
static void unmapped(uintptr_t start, size_t length) {
    size_t all = atomic_load(&paged.mapped);
    if (all != 0 && start <= paged.start && length >= all && paged.start - start <= length - all) {
        atomic_store(&paged.mapped, 0);
    }
}

static void *map(const char *function, void *hint, size_t length, int protection, int flags, int fd, off64_t offset) {
    mmap_function *next;
    *(void **) &next = dlsym(RTLD_NEXT, function);
    if (!(flags & MAP_ANONYMOUS) && is_paged_file(fd)) {
        /* A second view would put zeros into the memory where the first would fault. */
        say("a second mapping of guest RAM is refused, %zu bytes: its pages that are not resident would read as zeros", length);
        errno = EBUSY;
        return MAP_FAILED;
    }
    if (!is_guest_ram(length, flags, fd)) {
        say_private(length, protection, flags, fd);
        void *other = next(hint, length, protection, flags, fd, offset);
        if (other != MAP_FAILED && (flags & MAP_FIXED)) {
            unmapped((uintptr_t) other, length);
        }
        return other;
    }
    if (atomic_flag_test_and_set(&handed_over)) {
        say("%zu MiB of a second memory backend cannot be handed over: what can be is one mapping of one backend", length >> 20);
        if (required()) {
            say("its mapping is refused: it would be local memory (FARPAGE_REQUIRED=0 allows that)");
            errno = EBUSY;
            return MAP_FAILED;
        }
        return next(hint, length, protection, flags, fd, offset);
    }
    /* Pages that are there before the registration would never be asked of the agent. */
    void *address = next(hint, length, protection, flags & ~(MAP_POPULATE | MAP_LOCKED), fd, offset);
    int kept = errno;
    if (address == MAP_FAILED || !hand_over(address, length, fd, offset)) {
        atomic_flag_clear(&handed_over);
        if (address != MAP_FAILED) {
            give_up();
        }
    }
    errno = kept;
    return address;
}

void *mmap(void *hint, size_t length, int protection, int flags, int fd, off_t offset) {
    return map("mmap", hint, length, protection, flags, fd, offset);
}

void *mmap64(void *hint, size_t length, int protection, int flags, int fd, off64_t offset) {
    return map("mmap64", hint, length, protection, flags, fd, offset);
}

int munmap(void *address, size_t length) {
    int (*next)(void *, size_t);
    *(void **) &next = dlsym(RTLD_NEXT, "munmap");
    int result = next(address, length);
    if (result == 0) {
        unmapped((uintptr_t) address, length);
    }
    return result;
}

/* Whether a range of addresses lies in paged RAM. */
static bool is_paged(uintptr_t start, size_t length) {
    size_t all = atomic_load(&paged.mapped);
    return start >= paged.start && start - paged.start < all && length <= all - (start - paged.start);
}

/* Whether a range of addresses that madvise(2) would accept has a part of paged RAM in it. */
static bool touches_paged(uintptr_t start, size_t length) {
    size_t all = atomic_load(&paged.mapped);
    return all != 0 && start % (uintptr_t) getpagesize() == 0 && length <= UINTPTR_MAX - start && start < paged.start + all
        && start + length > paged.start;
}

/* Gives an advice for the part of a range that is not paged RAM. */
static int advise_beside(uintptr_t start, size_t length, int advice) {
    uintptr_t end = start + length, first = paged.start, last = first + atomic_load(&paged.length);
    int before = start < first ? advise((void *) start, first - start, advice) : 0;
    int after = end > last ? advise((void *) last, end - last, advice) : 0;
    return before != 0 ? before : after;
}

static int refuse_advice(const char *what) {
    say("%s", what);
    errno = EINVAL;
    return -1;
}

/*
 * Of MADV_FREE and MADV_DONTNEED the kernel tells the agent that the pages are removed, before it looks at the memory. Shared memory then
 * keeps its contents: the first fails with EINVAL, the second takes the pages out of the page table alone. So neither is passed on.
 */
int madvise(void *address, size_t length, int advice) {
    if (!touches_paged((uintptr_t) address, length)) {
        return advise(address, length, advice);
    }
    switch (advice) {
        case MADV_FREE:
            errno = EINVAL;
            return -1;
        case MADV_DONTNEED:
        case MADV_DONTNEED_LOCKED:
        case MADV_HUGEPAGE:
            return advise_beside((uintptr_t) address, length, advice);
        case MADV_COLLAPSE:
            return refuse_advice("guest RAM is not collapsed to huge pages: they cannot be evicted by pages of 4 KiB");
        case MADV_DOFORK:
            return refuse_advice("guest RAM is not inherited by children, which would find zeros where this process faults");
        default:
            return advise(address, length, advice);
    }
}

/* The address of a range of a file that is whole pages of paged RAM; NULL if it is not. */
static void *paged_at(int fd, off64_t offset, off64_t length) {
    if (length <= 0 || offset < paged.offset || (offset | length) % getpagesize() != 0 || !is_paged_file(fd)) {
        return NULL;
    }
    uintptr_t start = paged.start + (uintptr_t) (offset - paged.offset);
    return is_paged(start, (size_t) length) ? (void *) start : NULL;
}

static int allocate(const char *function, int fd, int mode, off64_t offset, off64_t length) {
    void *address = mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE) ? paged_at(fd, offset, length) : NULL;
    if (address != NULL && advise(address, (size_t) length, MADV_REMOVE) == 0) {
        return 0;
    }
    int (*next)(int, int, off64_t, off64_t);
    *(void **) &next = dlsym(RTLD_NEXT, function);
    return next(fd, mode, offset, length);
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
    return allocate("fallocate", fd, mode, offset, length);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
    return allocate("fallocate64", fd, mode, offset, length);
}

/* Whether a message has the descriptor of guest RAM among its SCM_RIGHTS; if so, it is refused with EBUSY. */
static bool sends_guest_ram(const struct msghdr *message) {
    if (atomic_load(&paged.length) == 0 || message->msg_control == NULL) {
        return false;
    }
    const char *end = (const char *) message->msg_control + message->msg_controllen;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR((struct msghdr *) message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const char *past = (const char *) part + part->cmsg_len;
        for (const char *at = (const char *) CMSG_DATA(part); at + sizeof(int) <= past && at + sizeof(int) <= end; at += sizeof(int)) {
            int fd;
            memcpy(&fd, at, sizeof fd);
            if (is_paged_file(fd)) {
                say("guest RAM is not sent to another process, which would map it and find zeros where this one faults: use no vhost-user "
                    "device and no virtiofsd");
                errno = EBUSY;
                return true;
            }
        }
    }
    return false;
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    ssize_t (*next)(int, const struct msghdr *, int);
    *(void **) &next = dlsym(RTLD_NEXT, "sendmsg");
    return sends_guest_ram(message) ? -1 : next(socket, message, flags);
}

int sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags) {
    for (unsigned int i = 0; i < count; i++) {
        if (sends_guest_ram(&messages[i].msg_hdr)) {
            return -1;
        }
    }
    int (*next)(int, struct mmsghdr *, unsigned int, int);
    *(void **) &next = dlsym(RTLD_NEXT, "sendmmsg");
    return next(socket, messages, count, flags);
}

/*
 * Whether a userfaultfd is refused. The RAM is registered with those of the agent, and the kernel registers it with no other one. A VMM finds
 * out late: QEMU, as the destination of a postcopy migration, after its source has stopped. If it gets no userfaultfd at all, it refuses before.
 */
static bool refuses_userfaultfd(void) {
    if (atomic_load(&paged.length) == 0) {
        return false;
    }
    say("a second userfaultfd is refused: guest RAM is on remote memory, so this process can neither be the destination of a postcopy "
        "migration nor take a snapshot in the background; use precopy migration");
    errno = EBUSY;
    return true;
}

long syscall(long number, ...) {
    static void *_Atomic found = NULL;
    void *symbol = atomic_load_explicit(&found, memory_order_relaxed);
    if (symbol == NULL) {
        symbol = dlsym(RTLD_NEXT, "syscall");
        atomic_store_explicit(&found, symbol, memory_order_relaxed);
    }
    long (*next)(long, ...);
    *(void **) &next = symbol;
    /* As the C library does: six arguments, whether the call has as many or not. */
    long argument[6];
    va_list arguments;
    va_start(arguments, number);
    for (size_t i = 0; i < sizeof argument / sizeof *argument; i++) {
        argument[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (number == SYS_userfaultfd && refuses_userfaultfd()) {
        return -1;
    }
    if (number == SYS_madvise) {
        return madvise((void *) argument[0], (size_t) argument[1], (int) argument[2]);
    }
    return next(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

/* O_TMPFILE includes O_DIRECTORY. */
static bool has_mode(int flags) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* The flags of a file without O_DIRECT; -1, and errno, if it is refused. */
static int without_direct_io(const char *path, int flags) {
    if (!(flags & O_DIRECT)) {
        return flags;
    }
    if (direct_io() == REFUSED) {
        say("%s is refused: it is opened with O_DIRECT, and FARPAGE_DIRECT_IO is refuse", path);
        errno = EINVAL;
        return -1;
    }
    say_buffered(path);
    return flags & ~O_DIRECT;
}

/* The flags to open a path with; -1, and errno, if it is refused. */
static int flags_to_open(const char *path, int flags) {
    bool refused = path != NULL && strcmp(path, "/dev/userfaultfd") == 0 && refuses_userfaultfd();
    return refused ? -1 : without_direct_io(path, flags);
}

static mode_t mode_of(int flags, va_list arguments) {
    return has_mode(flags) ? va_arg(arguments, mode_t) : 0;
}

/* open(2) and openat(2) by all the names that programs are compiled to call them by; those that end with _2 are of _FORTIFY_SOURCE. */
#define OPEN(name)                                                                        \
    int name(const char *path, int asked, ...) {                                          \
        va_list arguments;                                                                \
        va_start(arguments, asked);                                                       \
        mode_t mode = mode_of(asked, arguments);                                          \
        va_end(arguments);                                                                \
        int flags = flags_to_open(path, asked);                                           \
        int (*next)(const char *, int, ...);                                              \
        *(void **) &next = dlsym(RTLD_NEXT, #name);                                       \
        return flags == -1 ? -1 : next(path, flags, mode);                                \
    }

#define OPENAT(name)                                                                      \
    int name(int directory, const char *path, int asked, ...) {                           \
        va_list arguments;                                                                \
        va_start(arguments, asked);                                                       \
        mode_t mode = mode_of(asked, arguments);                                          \
        va_end(arguments);                                                                \
        int flags = flags_to_open(path, asked);                                           \
        int (*next)(int, const char *, int, ...);                                         \
        *(void **) &next = dlsym(RTLD_NEXT, #name);                                       \
        return flags == -1 ? -1 : next(directory, path, flags, mode);                     \
    }

#define FCNTL(name)                                                                       \
    int name(int fd, int command, ...) {                                                  \
        va_list arguments;                                                                \
        va_start(arguments, command);                                                     \
        void *argument = va_arg(arguments, void *);                                       \
        va_end(arguments);                                                                \
        if (command == F_SETFL) {                                                         \
            int flags = without_direct_io("a descriptor", (int) (intptr_t) argument);     \
            if (flags == -1) {                                                            \
                return -1;                                                                \
            }                                                                             \
            argument = (void *) (intptr_t) flags;                                         \
        }                                                                                 \
        int (*next)(int, int, ...);                                                       \
        *(void **) &next = dlsym(RTLD_NEXT, #name);                                       \
        return next(fd, command, argument);                                               \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
FCNTL(fcntl)
FCNTL(fcntl64)

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

int __open_2(const char *path, int flags) {
    return open(path, flags);
}

int __open64_2(const char *path, int flags) {
    return open64(path, flags);
}

int __openat_2(int directory, const char *path, int flags) {
    return openat(directory, path, flags);
}

int __openat64_2(int directory, const char *path, int flags) {
    return openat64(directory, path, flags);
}
