package io.farpage.bench.fetch;

/** What farpage is compared with. */
enum BaselineKind {
    /** The C program that fetches over TCP. */
    C,
    /** perftest's READ benchmarks. */
    PERFTEST,
    /** Another pair of agents, without encryption. */
    PLAIN,
    NONE
}
