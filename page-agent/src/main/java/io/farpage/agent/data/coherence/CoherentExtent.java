package io.farpage.agent.data.coherence;

/**
 * Where a member finds the directory of some pages.
 *
 * @param firstPage of the space
 * @param pages how many
 * @param home id of the node that has the directory
 * @param lost whether the home's pool is gone: pages that are not resident are lost
 */
public record CoherentExtent(long firstPage, int pages, String home, boolean lost) {}
