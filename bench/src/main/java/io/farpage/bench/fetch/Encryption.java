package io.farpage.bench.fetch;

/** Whether the link between home and node is encrypted. */
enum Encryption {
    OFF,
    ON;

    /** As {@code link.encryption} of both takes it. */
    String setting() {
        return this == ON ? "require" : "off";
    }
}
