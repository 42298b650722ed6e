package io.farpage.agent.doctor;

/** Writes lengths for people. */
final class Sizes {
    private Sizes() {}

    /** In MiB, or in KiB below one. */
    static String of(long bytes) {
        return bytes < 1 << 20 ? (bytes >> 10) + " KiB" : (bytes >> 20) + " MiB";
    }
}
