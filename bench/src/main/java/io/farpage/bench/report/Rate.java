package io.farpage.bench.report;

/** One round of a baseline that reports pages per second and no latencies. */
public record Rate(long count, double pagesPerSecond) implements Turn {}
