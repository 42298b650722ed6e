package io.farpage.guest.vmm;

/** The general registers of x86-64, in the order of their numbers. */
enum Register {
    RAX,
    RCX,
    RDX,
    RBX,
    RSP,
    RBP,
    RSI,
    RDI,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15;

    int low3() {
        return ordinal() & 7;
    }

    /** 1 for the eight that need a REX prefix bit. */
    int high1() {
        return ordinal() >> 3;
    }
}
