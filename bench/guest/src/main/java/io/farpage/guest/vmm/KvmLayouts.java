package io.farpage.guest.vmm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;

/** The structs of {@code <linux/kvm.h>} on x86-64, as sizes and offsets in bytes. */
final class KvmLayouts {
    private KvmLayouts() {}

    /**
     * {@snippet lang = c:
     * struct kvm_userspace_memory_region {
     *     __u32 slot; __u32 flags; __u64 guest_phys_addr; __u64 memory_size; __u64 userspace_addr;
     * };
     * }
     */
    static final class UserspaceMemoryRegion {
        static final long SIZE = 32;
        static final long SLOT = 0;
        static final long GUEST_PHYS_ADDR = 8;
        static final long MEMORY_SIZE = 16;
        static final long USERSPACE_ADDR = 24;

        private UserspaceMemoryRegion() {}
    }

    /**
     * {@snippet lang = c:
     * struct kvm_regs {
     *     __u64 rax, rbx, rcx, rdx, rsi, rdi, rsp, rbp, r8, r9, r10, r11, r12, r13, r14, r15, rip, rflags;
     * };
     * }
     */
    static final class Regs {
        static final long SIZE = 144;
        static final long RIP = 128;
        static final long RFLAGS = 136;

        private Regs() {}
    }

    /**
     * {@snippet lang = c:
     * struct kvm_segment {
     *     __u64 base; __u32 limit; __u16 selector; __u8 type, present, dpl, db, s, l, g, avl, unusable, padding;
     * };
     * }
     */
    static final class Segment {
        static final long SIZE = 24;
        static final long BASE = 0;
        static final long LIMIT = 8;
        static final long SELECTOR = 12;
        static final long TYPE = 14;
        static final long PRESENT = 15;
        static final long DB = 17;
        static final long S = 18;
        static final long L = 19;
        static final long G = 20;

        private Segment() {}

        /** A flat one. */
        static void set(MemorySegment segment, int selector, int type, boolean is64) {
            segment.fill((byte) 0);
            segment.set(JAVA_LONG, BASE, 0);
            segment.set(JAVA_INT, LIMIT, -1);
            segment.set(JAVA_SHORT, SELECTOR, (short) selector);
            segment.set(JAVA_BYTE, TYPE, (byte) type);
            segment.set(JAVA_BYTE, PRESENT, (byte) 1);
            segment.set(JAVA_BYTE, DB, (byte) (is64 ? 0 : 1));
            segment.set(JAVA_BYTE, S, (byte) 1);
            segment.set(JAVA_BYTE, L, (byte) (is64 ? 1 : 0));
            segment.set(JAVA_BYTE, G, (byte) 1);
        }
    }

    /**
     * {@snippet lang = c:
     * struct kvm_sregs {
     *     struct kvm_segment cs, ds, es, fs, gs, ss, tr, ldt;
     *     struct kvm_dtable gdt, idt;
     *     __u64 cr0, cr2, cr3, cr4, cr8, efer, apic_base;
     *     __u64 interrupt_bitmap[4];
     * };
     * }
     */
    static final class Sregs {
        static final long SIZE = 312;
        static final long CS = 0;
        static final long DS = 24;
        static final long ES = 48;
        static final long SS = 120;
        static final long CR0 = 224;
        static final long CR3 = 240;
        static final long CR4 = 248;
        static final long EFER = 264;

        private Sregs() {}
    }

    /**
     * {@snippet lang = c:
     * struct kvm_run {
     *     __u8 request_interrupt_window, immediate_exit, padding1[6];
     *     __u32 exit_reason; __u8 ready_for_interrupt_injection, if_flag; __u16 flags; __u64 cr8, apic_base;
     *     union {
     *         struct { __u8 direction, size; __u16 port; __u32 count; __u64 data_offset; } io;
     *         struct { __u64 phys_addr; __u8 data[8]; __u32 len; __u8 is_write; } mmio;
     *         struct { __u64 hardware_entry_failure_reason; __u32 cpu; } fail_entry;
     *         struct { __u32 suberror; __u32 ndata; __u64 data[16]; } internal;
     *     };
     * };
     * }
     */
    static final class Run {
        static final long EXIT_REASON = 8;
        static final long IO_DIRECTION = 32;
        static final long IO_SIZE = 33;
        static final long IO_PORT = 34;
        static final long IO_DATA_OFFSET = 40;
        static final long MMIO_PHYS_ADDR = 32;
        static final long FAIL_ENTRY_REASON = 32;
        static final long INTERNAL_SUBERROR = 32;

        static final int EXIT_IO = 2;
        static final int EXIT_HLT = 5;
        static final int EXIT_MMIO = 6;
        static final int EXIT_SHUTDOWN = 8;
        static final int EXIT_FAIL_ENTRY = 9;
        static final int EXIT_INTERNAL_ERROR = 17;
        static final int IO_OUT = 1;

        private Run() {}
    }
}
