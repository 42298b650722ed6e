package io.farpage.agent.latency;

import java.time.Instant;
import java.util.SortedMap;
import org.HdrHistogram.Histogram;

/**
 * What was recorded in one interval.
 *
 * @param from its begin
 * @param seconds its length, more than 0
 * @param series nanoseconds, by the name of the series
 */
public record LatencyInterval(Instant from, double seconds, SortedMap<String, Histogram> series) {}
