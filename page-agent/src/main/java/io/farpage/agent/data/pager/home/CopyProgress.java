package io.farpage.agent.data.pager.home;

import io.farpage.agent.data.shard.Counter;

/**
 * How far the pages of an extent are copied to the home that joins it. Any thread.
 *
 * @param firstPage of the extent, in the whole space
 * @param epoch of the extent
 * @param left pages of it in this pager's slice that the home may still lack
 */
public record CopyProgress(long firstPage, long epoch, Counter left) {}
