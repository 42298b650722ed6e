/*
 * Stands for a VMM whose guest is migrated live: a KVM guest stores at random while its RAM is copied in rounds, as precopy migration does.
 *   precopy_ram PAGES STORES SEED
 * The RAM is a memfd of the name that QEMU gives it. The guest increments words of PAGES pages, a power of two, STORES times, where xorshift64
 * tells it to. Meanwhile each round takes KVM's log of dirty pages and copies those pages: odd rounds with memcpy(3), even ones with pwrite(2)
 * as a socket would. When the guest halts, one more round copies the rest. Then RAM and copy are compared with what the same stores make of zeros.
 * Prints one line of JSON: rounds, pages copied in them, words of the RAM and of the copy that differ. Exit code 3 if a word does, 77 without KVM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WRONG = 3, NO_KVM = 77, PAGE = 4096, WORDS = PAGE / sizeof(uint64_t) };
/* Guest-physical addresses. The tables map the first GiB to itself by pages of 2 MiB. */
enum { PML4 = 0x1000, PDPT = 0x2000, DIRECTORY = 0x3000, CODE = 0x4000, DATA = 0x200000 };

/* rax: state of xorshift64, rcx: stores to do, rsi: mask of a word's offset, rdi: DATA. */
static const uint8_t program[] = {
    0x48, 0x89, 0xc2, 0x48, 0xc1, 0xe2, 0x0d, 0x48, 0x31, 0xd0, /* rax ^= rax << 13 */
    0x48, 0x89, 0xc2, 0x48, 0xc1, 0xea, 0x07, 0x48, 0x31, 0xd0, /* rax ^= rax >> 7 */
    0x48, 0x89, 0xc2, 0x48, 0xc1, 0xe2, 0x11, 0x48, 0x31, 0xd0, /* rax ^= rax << 17 */
    0x48, 0x89, 0xc2, 0x48, 0x21, 0xf2,                         /* rdx = rax & rsi */
    0x48, 0xff, 0x04, 0x17,                                     /* inc qword [rdi + rdx] */
    0x48, 0xff, 0xc9, 0x75, 0xd3,                               /* dec rcx; jnz */
    0xf4,                                                       /* hlt */
};

static char *ram, *copy;
static int copy_file;
static size_t ram_pages;
static uint64_t rounds, copied;
static atomic_bool halted;

static void require(bool done, const char *what) {
    if (!done) {
        fprintf(stderr, "precopy_ram: %s: %s\n", what, strerror(errno));
        exit(2);
    }
}

static uint64_t next(uint64_t x) {
    x ^= x << 13;
    x ^= x >> 7;
    return x ^ x << 17;
}

static void *map_file(const char *name, size_t bytes, int *fd) {
    *fd = memfd_create(name, MFD_CLOEXEC);
    require(*fd >= 0 && ftruncate(*fd, (off_t) bytes) == 0, "memfd");
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    require(address != MAP_FAILED, "mmap");
    return address;
}

static void copy_page(size_t page) {
    if (rounds & 1) {
        memcpy(copy + page * PAGE, ram + page * PAGE, PAGE);
    } else {
        require(pwrite(copy_file, ram + page * PAGE, PAGE, (off_t) (page * PAGE)) == PAGE, "pwrite of a page of RAM");
    }
    copied++;
}

static void copy_dirty(int vm, uint64_t *bits) {
    struct kvm_dirty_log log = {.slot = 0, .dirty_bitmap = bits};
    require(ioctl(vm, KVM_GET_DIRTY_LOG, &log) == 0, "KVM_GET_DIRTY_LOG");
    rounds++;
    for (size_t page = 0; page < ram_pages; page++) {
        if (bits[page / 64] >> page % 64 & 1) {
            copy_page(page);
        }
    }
}

static void write_tables(void) {
    ((uint64_t *) (ram + PML4))[0] = PDPT | 3;
    ((uint64_t *) (ram + PDPT))[0] = DIRECTORY | 3;
    for (uint64_t i = 0; i < WORDS; i++) {
        ((uint64_t *) (ram + DIRECTORY))[i] = i << 21 | 0x83;
    }
    memcpy(ram + CODE, program, sizeof program);
}

static void begin_in_long_mode(int cpu, uint64_t pages, uint64_t stores, uint64_t seed) {
    struct kvm_sregs sregs;
    require(ioctl(cpu, KVM_GET_SREGS, &sregs) == 0, "KVM_GET_SREGS");
    struct kvm_segment code = {.limit = 0xffffffff, .selector = 8, .type = 11, .present = 1, .s = 1, .l = 1, .g = 1};
    struct kvm_segment data = {.limit = 0xffffffff, .selector = 16, .type = 3, .present = 1, .s = 1, .db = 1, .g = 1};
    sregs.cs = code;
    sregs.ds = sregs.es = sregs.ss = data;
    sregs.cr3 = PML4;
    sregs.cr4 = 0x20;
    sregs.cr0 = 0x80000001;
    sregs.efer = 0x500;
    require(ioctl(cpu, KVM_SET_SREGS, &sregs) == 0, "KVM_SET_SREGS");
    struct kvm_regs regs = {
        .rip = CODE, .rflags = 2, .rax = seed, .rcx = stores, .rsi = (pages * PAGE - 1) & ~7ull, .rdi = DATA};
    require(ioctl(cpu, KVM_SET_REGS, &regs) == 0, "KVM_SET_REGS");
}

struct vcpu {
    int fd;
    struct kvm_run *run;
};

static void *run_guest(void *argument) {
    struct vcpu *cpu = argument;
    while (ioctl(cpu->fd, KVM_RUN, 0) != 0) {
        require(errno == EINTR || errno == EAGAIN, "KVM_RUN");
    }
    if (cpu->run->exit_reason != KVM_EXIT_HLT) {
        fprintf(stderr, "precopy_ram: the guest stopped for reason %u\n", cpu->run->exit_reason);
        exit(2);
    }
    atomic_store(&halted, true);
    return NULL;
}

static uint64_t differing(const char *memory, const uint64_t *expected, uint64_t words) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < words; i++) {
        count += ((const uint64_t *) (memory + DATA))[i] != expected[i];
    }
    return count;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "precopy_ram PAGES STORES SEED\n");
        return 2;
    }
    uint64_t pages = strtoull(argv[1], NULL, 10), stores = strtoull(argv[2], NULL, 10), seed = strtoull(argv[3], NULL, 10);
    size_t bytes = DATA + pages * PAGE;
    ram_pages = bytes / PAGE;
    int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    int vm = kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
    if (vm < 0) {
        fprintf(stderr, "precopy_ram: /dev/kvm: %s\n", strerror(errno));
        return NO_KVM;
    }
    int ram_file;
    copy = map_file("copy", bytes, &copy_file);
    ram = map_file("memory-backend-memfd", bytes, &ram_file);
    write_tables();
    struct kvm_userspace_memory_region region = {
        .flags = KVM_MEM_LOG_DIRTY_PAGES, .memory_size = bytes, .userspace_addr = (uintptr_t) ram};
    require(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) == 0, "KVM_SET_USER_MEMORY_REGION");
    struct vcpu cpu = {.fd = ioctl(vm, KVM_CREATE_VCPU, 0)};
    require(cpu.fd >= 0, "KVM_CREATE_VCPU");
    int run_bytes = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
    cpu.run = mmap(NULL, (size_t) run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, cpu.fd, 0);
    require(cpu.run != MAP_FAILED, "mmap of a vCPU");
    begin_in_long_mode(cpu.fd, pages, stores, seed);

    uint64_t *bits = calloc(ram_pages / 64 + 1, sizeof *bits);
    uint64_t *expected = calloc(pages * WORDS, sizeof *expected);
    require(bits != NULL && expected != NULL, "calloc");
    for (size_t page = 0; page < ram_pages; page++) {
        copy_page(page);
    }
    pthread_t thread;
    require(pthread_create(&thread, NULL, run_guest, &cpu) == 0, "pthread_create");
    while (!atomic_load(&halted)) {
        copy_dirty(vm, bits);
        usleep(2000);
    }
    pthread_join(thread, NULL);
    copy_dirty(vm, bits);

    for (uint64_t i = 0, x = seed; i < stores; i++) {
        x = next(x);
        expected[(x & (pages * PAGE - 1)) / sizeof x]++;
    }
    uint64_t of_ram = differing(ram, expected, pages * WORDS), of_copy = differing(copy, expected, pages * WORDS);
    printf("{\"rounds\": %lu, \"copied\": %lu, \"wrongInRam\": %lu, \"wrongInCopy\": %lu}\n", rounds, copied, of_ram, of_copy);
    return of_ram + of_copy == 0 ? 0 : WRONG;
}
