package io.farpage.verbs.soft;

/** Receiver-not-ready timer codes: InfiniBand Architecture Specification, volume 1, table 45. */
final class RnrTimer {
    private static final int[] HUNDREDTHS_OF_MILLIS = {
        65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
        6144, 8192, 12288, 16384, 24576, 32768, 49152
    };

    private RnrTimer() {}

    /** Nanoseconds that {@code code}, 0..31, stands for. */
    static long nanos(int code) {
        return HUNDREDTHS_OF_MILLIS[code] * 10_000L;
    }
}
