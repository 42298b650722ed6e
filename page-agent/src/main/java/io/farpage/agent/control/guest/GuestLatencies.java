package io.farpage.agent.control.guest;

import org.HdrHistogram.Histogram;

/**
 * The latencies of all faults of a guest so far, in nanoseconds.
 *
 * @param space its name
 * @param fault from reading a fault to having installed its page
 * @param fetch the part until the page had arrived
 * @param install the part from then on
 */
public record GuestLatencies(String space, Histogram fault, Histogram fetch, Histogram install) {}
