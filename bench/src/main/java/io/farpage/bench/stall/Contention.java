package io.farpage.bench.stall;

import java.util.OptionalDouble;

/**
 * How much one side of a round had to share the CPUs.
 *
 * @param pressure share of the time, 0 to 1, in which some runnable thread of the machine waited for a CPU ({@code
 *     some} of {@code /proc/pressure/cpu}); empty if the kernel does not tell
 * @param waited seconds in each second that threads which move or touch pages waited for a CPU, added; empty if the
 *     kernel does not tell
 * @param preemptions involuntary context switches of these threads, per second
 */
public record Contention(OptionalDouble pressure, OptionalDouble waited, double preemptions) {}
