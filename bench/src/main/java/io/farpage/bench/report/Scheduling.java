package io.farpage.bench.report;

/**
 * What the scheduler did to the threads of programs that have ended with a round, by their own count.
 *
 * @param preemptions involuntary context switches
 * @param waitedNs time in which the threads could run and had no CPU, added; nanoseconds
 */
public record Scheduling(long preemptions, long waitedNs) {
    /** No program has ended. */
    public static final Scheduling NONE = new Scheduling(0, 0);
}
