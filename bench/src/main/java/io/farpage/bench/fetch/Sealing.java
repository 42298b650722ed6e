package io.farpage.bench.fetch;

/**
 * Whether the node seals pages before it writes them home and opens those that it fetches, as for an encrypted space.
 */
enum Sealing {
    OFF,
    ON
}
