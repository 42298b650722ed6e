package io.farpage.bench.pattern;

import io.farpage.guest.content.PageContent;

/** Vigna's xorshift64*: three shifts and a multiplication per number, period 2<sup>64</sup> - 1. */
final class Xorshift {
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;

    private long state;

    Xorshift(long seed) {
        long mixed = PageContent.mix(seed + GOLDEN);
        state = mixed == 0 ? GOLDEN : mixed; // zero is the one state it would never leave
    }

    long next() {
        long x = state;
        x ^= x >>> 12;
        x ^= x << 25;
        x ^= x >>> 27;
        state = x;
        return x * 0x2545f4914f6cdd1dL;
    }

    /** Uniform in [0, 1). */
    double nextUnit() {
        return (next() >>> 11) * 0x1.0p-53;
    }
}
