package io.farpage.bench.fetch;

import java.util.OptionalInt;

/**
 * The RDMA device that both agents, and perftest, are told to use, and the index of its GID if it is not left to them.
 */
record RdmaPort(String device, OptionalInt gidIndex) {}
