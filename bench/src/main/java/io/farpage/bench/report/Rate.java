package io.farpage.bench.report;

/** One turn of a baseline that tells how many pages it fetched a second, and not how long each took. */
public record Rate(long count, double pagesPerSecond) {}
