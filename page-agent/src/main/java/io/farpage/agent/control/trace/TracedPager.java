package io.farpage.agent.control.trace;

import io.farpage.agent.data.pager.memory.PagerCounters;

/**
 * A pager whose faults may be traced.
 *
 * @param space name of the guest's space
 * @param firstPage of the pager's part of it
 * @param counters of the pager
 */
public record TracedPager(String space, long firstPage, PagerCounters counters) {}
