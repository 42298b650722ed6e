/*
 * fault_toucher: a process whose memory another one pages. It registers memory with a userfaultfd, hands it over as a VMM does, and
 * touches each page once, in a given order. A latency is from just before the touch to just after it: the whole fault, as whoever
 * runs on such memory feels it. What a page holds is checked after the clock has stopped. Prints one line of JSON.
 * In it, firstNs is the time from before the memory is mapped until the first touch is over.
 *
 * The same program measures an agent and fault_baseline, which bring the pages. With --file or --swap nothing is handed over, and
 * the kernel brings the pages: of a file that is mapped privately, or those that it has written to a swap device before.
 */
#define _GNU_SOURCE
#define PROGRAM "fault_toucher"

#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "figures.h"
#include "handoff.h"

enum { PAGE = 4096, LARGE_PAGE = 2 << 20, MAX_THREADS = 64 };

static const char *const backing_names[] = {"memfd", "anonymous", NULL};

struct toucher_options {
    const char *socket;
    const char *path;
    uint64_t bytes;
    uint64_t pages;
    uint64_t touches;
    uint64_t dirty;
    enum page_pattern pattern;
    uint64_t threads;
    uint64_t warmup;
    uint64_t seed;
    uint64_t order_seed;
    uint64_t timeout;
    int cpu;
    bool anonymous;
    bool swap;
    bool watch;
    bool fill;
    bool recheck;
    bool cold;
    bool hold;
    bool armed;
    bool stream;
    bool large;
};

struct memory {
    char *at;
    size_t bytes;
    int file; /* -1 if there is none */
};

struct thread {
    const struct toucher_options *options;
    const char *memory;
    const uint64_t *order;
    uint64_t index;
    pthread_barrier_t *start;
    uint64_t started;
    uint64_t first;
    uint64_t ended;
    uint64_t mismatches;
    struct scheduling scheduling;
    struct latency_histogram latencies;
};

static void explain(FILE *out) {
    fputs("usage: fault_toucher --socket PATH|--file PATH|--swap [options]\n"
          "  --socket PATH         where the memory is handed over\n"
          "  --watch               end when the connection is closed over which the memory was handed over\n"
          "  --memory BYTES        that are handed over, if they are more than the pages to touch (0)\n"
          "  --file PATH           file that is mapped privately instead\n"
          "  --swap                memory that is filled and then paged out by the kernel instead\n"
          "  --cold                drop the file's pages from the page cache first\n"
          "  --pages N             pages to touch, each once (8192)\n"
          "  --touches N           touch that many of the pages, the first ones in the order (all)\n"
          "  --dirty N             write to that many of the pages at the end, with --file (0)\n"
          "  --armed               do not map the memory before there is a line on standard input\n"
          "  --hold                with --file or --fill: go on until the end of standard input; for each line of it,\n"
          "                        print how many pages are in the page cache\n"
          "  --pattern random|sequential   (random)\n"
          "  --threads N           that share the pages, 1 to 64 (1)\n"
          "  --warmup N            touches that are not recorded, at first (0)\n"
          "  --seed N              of page content (1)\n"
          "  --order-seed N        of the random order (1)\n"
          "  --cpu N               where all threads run (as it comes)\n"
          "  --backing memfd|anonymous   (memfd)\n"
          "  --fill                write the pages instead of reading them\n"
          "  --recheck             touch and check all pages once more, unrecorded\n"
          "  --stream              write all pages again and again, until the end of standard input\n"
          "  --large               have the memory in pages of 2 MiB, with --stream\n"
          "  --timeout SECONDS    after which it ends, 1 to 3600 (60)\n",
            out);
}

static struct toucher_options parse(int argc, char **argv) {
    static const struct option known[] = {
            {"socket", required_argument, NULL, 's'},     {"pages", required_argument, NULL, 'n'},
            {"pattern", required_argument, NULL, 'p'},    {"threads", required_argument, NULL, 't'},
            {"warmup", required_argument, NULL, 'w'},     {"seed", required_argument, NULL, 'S'},
            {"order-seed", required_argument, NULL, 'o'}, {"cpu", required_argument, NULL, 'c'},
            {"backing", required_argument, NULL, 'b'},    {"fill", no_argument, NULL, 'f'},
            {"recheck", no_argument, NULL, 'r'},          {"timeout", required_argument, NULL, 'P'},
            {"file", required_argument, NULL, 'F'},       {"touches", required_argument, NULL, 'T'},
            {"dirty", required_argument, NULL, 'd'},      {"cold", no_argument, NULL, 'C'},
            {"hold", no_argument, NULL, 'H'},             {"armed", no_argument, NULL, 'a'},
            {"memory", required_argument, NULL, 'm'},     {"stream", no_argument, NULL, 'R'},
            {"swap", no_argument, NULL, 'W'},             {"watch", no_argument, NULL, 'e'},
            {"large", no_argument, NULL, 'l'},            {"help", no_argument, NULL, 'h'},
            {NULL, 0, NULL, 0}};
    static const char *const patterns[] = {"random", "sequential", NULL};
    struct toucher_options o = {
            .pages = 8192, .threads = 1, .seed = 1, .order_seed = 1, .timeout = 60, .cpu = -1};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
            case 's': o.socket = optarg; break;
            case 'n': o.pages = parse_number("--pages", optarg, 1, 1ull << 31); break;
            case 'p': o.pattern = (enum page_pattern) parse_choice("--pattern", optarg, patterns); break;
            case 't': o.threads = parse_number("--threads", optarg, 1, MAX_THREADS); break;
            case 'w': o.warmup = parse_number("--warmup", optarg, 0, 1ull << 31); break;
            case 'S': o.seed = parse_number("--seed", optarg, 0, UINT64_MAX); break;
            case 'o': o.order_seed = parse_number("--order-seed", optarg, 0, UINT64_MAX); break;
            case 'c': o.cpu = (int) parse_number("--cpu", optarg, 0, CPU_SETSIZE - 1); break;
            case 'b': o.anonymous = parse_choice("--backing", optarg, backing_names) == 1; break;
            case 'f': o.fill = true; break;
            case 'r': o.recheck = true; break;
            case 'm': o.bytes = parse_number("--memory", optarg, 0, 1ull << 43); break;
            case 'F': o.path = optarg; break;
            case 'T': o.touches = parse_number("--touches", optarg, 1, 1ull << 31); break;
            case 'd': o.dirty = parse_number("--dirty", optarg, 0, 1ull << 31); break;
            case 'C': o.cold = true; break;
            case 'e': o.watch = true; break;
            case 'W': o.swap = o.anonymous = true; break;
            case 'H': o.hold = true; break;
            case 'a': o.armed = true; break;
            case 'R': o.stream = true; break;
            case 'l': o.large = true; break;
            case 'P': o.timeout = parse_number("--timeout", optarg, 1, 3600); break;
            case 'h': explain(stdout); exit(0);
            default: explain(stderr); exit(1);
        }
    }
    if (optind != argc || (o.socket != NULL) + (o.path != NULL) + o.swap != 1) {
        fail("%s; see --help",
                optind != argc ? "more than options were given" : "one of --socket, --file and --swap is needed");
    }
    if (o.path == NULL && (o.dirty > 0 || o.cold)) {
        fail("--dirty and --cold need --file");
    }
    if (o.hold && o.path == NULL && !o.fill) {
        fail("--hold needs --file or --fill");
    }
    if (o.socket == NULL && (o.fill || o.stream)) {
        fail("--fill and --stream need --socket");
    }
    if (o.large && (!o.stream || o.anonymous || o.pages * PAGE % LARGE_PAGE != 0)) {
        fail("--large needs --stream, --backing memfd, and --pages that are a multiple of %d", LARGE_PAGE / PAGE);
    }
    if (o.touches > o.pages || o.dirty > o.pages) {
        fail("--touches %" PRIu64 ", --dirty %" PRIu64 ": there are %" PRIu64 " pages", o.touches, o.dirty, o.pages);
    }
    if (o.touches == 0) {
        o.touches = o.pages;
    }
    if (o.bytes % PAGE != 0) {
        fail("--memory %" PRIu64 ": must be a multiple of %d", o.bytes, PAGE);
    }
    if (o.warmup + o.threads > o.touches) {
        fail("--warmup %" PRIu64 ": leaves no page for each of %" PRIu64 " threads", o.warmup, o.threads);
    }
    return o;
}

static struct memory map(const struct toucher_options *o) {
    struct memory m = {.bytes = o->bytes > o->pages * PAGE ? o->bytes : o->pages * PAGE, .file = -1};
    unsigned large = o->large ? MFD_HUGETLB | MFD_HUGE_2MB : 0;
    m.file = o->anonymous ? -1 : memfd_create("farpage-toucher", MFD_CLOEXEC | large);
    if (!o->anonymous && (m.file < 0 || ftruncate(m.file, (off_t) m.bytes) != 0)) {
        fail("memfd of %zu bytes: %s", m.bytes, strerror(errno));
    }
    int flags = o->anonymous ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
    m.at = mmap(NULL, m.bytes, PROT_READ | PROT_WRITE, flags, m.file, 0);
    return m;
}

/* As a VMM maps a file that holds the memory of its guest: all of it, however much of it is touched. */
static struct memory map_file(const struct toucher_options *o) {
    struct memory m = {.file = open(o->path, O_RDONLY | O_CLOEXEC)};
    struct stat stat;
    if (m.file < 0 || fstat(m.file, &stat) != 0) {
        fail("%s: %s", o->path, strerror(errno));
    }
    m.bytes = (size_t) stat.st_size;
    if (m.bytes < o->pages * PAGE) {
        fail("%s: has %zu bytes; --pages %" PRIu64 " need %" PRIu64, o->path, m.bytes, o->pages, o->pages * PAGE);
    }
    int failure = o->cold ? posix_fadvise(m.file, 0, 0, POSIX_FADV_DONTNEED) : 0;
    if (failure != 0) {
        fail("posix_fadvise of %s: %s", o->path, strerror(failure));
    }
    m.at = mmap(NULL, m.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, m.file, 0);
    return m;
}

/* Faults of this program are those of user mode, which is all that a user without privileges may handle. */
static int register_memory(char *memory, size_t size) {
    int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == EPERM) {
        fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    }
    if (fd < 0) {
        fail("userfaultfd: %s", strerror(errno));
    }
    struct uffdio_api api = {.api = UFFD_API,
            .features = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MISSING_HUGETLBFS | UFFD_FEATURE_PAGEFAULT_FLAG_WP
                    | UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
    struct uffdio_register range = {.range = {(uintptr_t) memory, size},
            .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP};
    if (ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &range) != 0) {
        fail("userfaultfd of %zu bytes: %s", size, strerror(errno));
    }
    return fd;
}

static uint64_t *make_order(const struct toucher_options *o) {
    uint64_t *order = malloc(o->pages * sizeof *order);
    if (order == NULL) {
        fail("no memory for the order of %" PRIu64 " pages", o->pages);
    }
    uint64_t state = page_content_mix(o->order_seed + PAGE_CONTENT_GOLDEN);
    for (uint64_t i = 0; i < o->pages; i++) {
        order[i] = i;
    }
    for (uint64_t left = o->pages; o->pattern == PATTERN_RANDOM && left > 1; left--) {
        uint64_t other = (uint64_t) (((unsigned __int128) xorshift64star(&state) * left) >> 64);
        uint64_t page = order[left - 1];
        order[left - 1] = order[other];
        order[other] = page;
    }
    return order;
}

static bool is_right(const struct toucher_options *o, const char *at, uint64_t page) {
    return page_content_verify((const uint64_t *) at, PAGE, o->seed, page) < 0;
}

static void *touch_share(void *argument) {
    struct thread *t = argument;
    const struct toucher_options *o = t->options;
    pthread_barrier_wait(t->start);
    t->started = now_ns();
    for (uint64_t i = t->index; i < o->touches; i += o->threads) {
        uint64_t page = t->order[i];
        const char *at = t->memory + page * PAGE;
        uint64_t before = now_ns();
        (void) *(const volatile uint64_t *) at;
        uint64_t after = now_ns();
        if (i >= o->warmup) {
            latency_record(&t->latencies, after - before);
        } else {
            t->started = after;
        }
        t->first = t->first == 0 ? after : t->first;
        t->mismatches += !is_right(o, at, page);
    }
    t->ended = now_ns();
    t->scheduling = scheduling_of_thread();
    return NULL;
}

static void measure(const struct toucher_options *o, const char *memory, const uint64_t *order, uint64_t begun) {
    struct thread *threads = calloc(o->threads, sizeof *threads);
    pthread_t handles[MAX_THREADS];
    pthread_barrier_t start;
    if (threads == NULL || pthread_barrier_init(&start, NULL, (unsigned) o->threads) != 0) {
        fail("no memory for %" PRIu64 " threads", o->threads);
    }
    for (uint64_t i = 0; i < o->threads; i++) {
        struct thread *t = &threads[i];
        t->options = o;
        t->memory = memory;
        t->order = order;
        t->index = i;
        t->start = &start;
        int failure = pthread_create(&handles[i], NULL, touch_share, t);
        if (failure != 0) {
            fail("pthread_create: %s", strerror(failure));
        }
    }
    struct latency_histogram *all = &threads[0].latencies;
    uint64_t started = UINT64_MAX;
    uint64_t first = UINT64_MAX;
    uint64_t ended = 0;
    uint64_t mismatches = 0;
    struct scheduling scheduling = {0};
    for (uint64_t i = 0; i < o->threads; i++) {
        struct thread *t = &threads[i];
        pthread_join(handles[i], NULL);
        started = t->started < started ? t->started : started;
        first = t->first < first ? t->first : first;
        ended = t->ended > ended ? t->ended : ended;
        mismatches += t->mismatches;
        scheduling.preemptions += t->scheduling.preemptions;
        scheduling.waited_ns += t->scheduling.waited_ns;
        if (i > 0) {
            latency_add(all, &t->latencies);
        }
    }
    for (uint64_t page = 0; o->recheck && page < o->pages; page++) {
        mismatches += !is_right(o, memory + page * PAGE, page);
    }
    char placement[32];
    snprintf(placement, sizeof placement, "toucher cpu %d", o->cpu);
    print_figures(&(struct figures) {
            .name = "toucher",
            .pattern = pattern_names[o->pattern],
            .placement = placement,
            .backing = o->path != NULL ? "file" : backing_names[o->anonymous],
            .page_size = PAGE,
            .depth = o->threads,
            .count = all->total,
            .mismatches = mismatches,
            .elapsed_ns = ended - started,
            .first_ns = first - begun,
            .scheduling = scheduling,
            .latencies = all,
            .with_latencies = true});
    free(threads);
}

/* The pages that are not in a swap device: bit 62 of their entries (Documentation/admin-guide/mm/pagemap.rst). */
static uint64_t pages_in_memory(const char *at, uint64_t pages) {
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t *entries = malloc(pages * sizeof *entries);
    size_t size = pages * sizeof *entries;
    if (fd < 0 || entries == NULL
            || pread(fd, entries, size, (off_t) ((uintptr_t) at / PAGE * sizeof *entries)) != (ssize_t) size) {
        fail("pagemap of %" PRIu64 " pages: %s", pages, strerror(errno));
    }
    uint64_t left = 0;
    for (uint64_t page = 0; page < pages; page++) {
        left += (entries[page] >> 62 & 1) == 0;
    }
    free(entries);
    close(fd);
    return left;
}

static void fill(const struct toucher_options *o, char *at) {
    for (uint64_t page = 0; page < o->pages; page++) {
        page_content_fill((uint64_t *) (at + page * PAGE), PAGE, o->seed, page);
    }
}

static void page_out(const struct toucher_options *o, const struct memory *m) {
    fill(o, m->at);
    uint64_t left = o->pages;
    for (int attempt = 0; attempt < 10 && left > 0; attempt++) {
        if (madvise(m->at, m->bytes, MADV_PAGEOUT) != 0) {
            fail("MADV_PAGEOUT of %zu bytes: %s", m->bytes, strerror(errno));
        }
        left = pages_in_memory(m->at, o->pages);
    }
    if (left > 0) {
        fail("--swap: %" PRIu64 " of %" PRIu64 " pages stay in memory; turn on a swap device with room for them", left,
                o->pages);
    }
}

/* How many pages of the file are in the page cache, mapped by any process or by none. */
static uint64_t cached_pages(const struct memory *m) {
    size_t pages = (m->bytes + PAGE - 1) / PAGE;
    unsigned char *resident = malloc(pages);
    if (resident == NULL || mincore(m->at, m->bytes, resident) != 0) {
        fail("mincore of %zu pages: %s", pages, strerror(errno));
    }
    uint64_t cached = 0;
    for (size_t page = 0; page < pages; page++) {
        cached += resident[page] & 1;
    }
    free(resident);
    return cached;
}

static void hold(const struct memory *m) {
    for (int c; (c = getchar()) != EOF;) {
        if (c == '\n') {
            printf("{\"cachedPages\":%" PRIu64 "}\n", cached_pages(m));
            fflush(stdout);
        }
    }
}

static bool has_ended(int fd) {
    struct pollfd end = {fd, POLLIN, 0};
    return poll(&end, 1, 0) > 0;
}

/*
 * Writes all pages in their order again and again, other content each time, and checks first what they hold. Says so after the
 * first pass, and goes on until the end of standard input.
 */
static void stream(const struct toucher_options *o, char *memory) {
    enum { PAGES_BETWEEN_LOOKS = 64 };
    uint64_t mismatches = 0;
    uint64_t touches = 0;
    for (uint64_t pass = 0; pass == 0 || !has_ended(STDIN_FILENO); pass++) {
        for (uint64_t page = 0; page < o->pages; page++, touches++) {
            uint64_t *words = (uint64_t *) (memory + page * PAGE);
            mismatches += pass > 0 && page_content_verify(words, PAGE, o->seed + pass - 1, page) >= 0;
            page_content_fill(words, PAGE, o->seed + pass, page);
            if (pass > 0 && page % PAGES_BETWEEN_LOOKS == 0 && has_ended(STDIN_FILENO)) {
                break;
            }
        }
        if (pass == 0) {
            puts("streaming");
            fflush(stdout);
        }
    }
    printf("{\"touches\":%" PRIu64 ",\"mismatches\":%" PRIu64 "}\n", touches, mismatches);
}

static void *await_handler_end(void *connection) {
    struct pollfd fd = {.fd = (int) (intptr_t) connection, .events = POLLRDHUP};
    while (poll(&fd, 1, -1) < 0 && errno == EINTR) {
    }
    fail("what brings the pages has ended");
}

/* Its end would leave the next fault without an answer. */
static void end_with_handler(int connection) {
    pthread_t thread;
    int failure = pthread_create(&thread, NULL, await_handler_end, (void *) (intptr_t) connection);
    if (failure != 0) {
        fail("pthread_create: %s", strerror(failure));
    }
    pthread_detach(thread);
}

int main(int argc, char **argv) {
    struct toucher_options o = parse(argc, argv);
    /* Ends it even in the midst of a fault that nobody resolves. */
    alarm((unsigned) o.timeout);
    if (o.cpu >= 0) {
        pin(o.cpu);
    }
    uint64_t *order = make_order(&o);
    while (o.armed) {
        int c = getchar();
        if (c == EOF) {
            return 0;
        }
        o.armed = c != '\n';
    }
    uint64_t begun = now_ns();
    struct memory m = o.path != NULL ? map_file(&o) : map(&o);
    if (m.at == MAP_FAILED) {
        fail("mmap of %zu bytes: %s", m.bytes, strerror(errno));
    }
    /* One fault a page, whatever the machine's policy on huge pages. */
    madvise(m.at, m.bytes, MADV_NOHUGEPAGE);
    if (o.swap) {
        page_out(&o, &m);
    } else if (o.path == NULL) {
        int uffd = register_memory(m.at, m.bytes);
        int connection = hand_over(o.socket, m.at, m.bytes, o.large ? LARGE_PAGE : PAGE, uffd, m.file);
        if (o.watch) {
            end_with_handler(connection);
        }
    }
    if (o.fill) {
        fill(&o, m.at);
        puts("filled");
        fflush(stdout);
        if (o.hold) {
            hold(&m);
        }
        return 0;
    }
    if (o.stream) {
        stream(&o, m.at);
        return 0;
    }
    measure(&o, m.at, order, begun);
    for (uint64_t i = 0; i < o.dirty; i++) {
        *(volatile char *) (m.at + order[i] * PAGE) = 1;
    }
    free(order);
    if (o.hold) {
        hold(&m);
    }
    return 0;
}
