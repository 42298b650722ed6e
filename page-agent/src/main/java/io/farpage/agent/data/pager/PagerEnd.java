package io.farpage.agent.data.pager;

import io.farpage.agent.data.pager.page.WorkingSet;

/**
 * How a guest's paging ended.
 *
 * @param reason why, for people
 * @param saved whether all of the guest's memory is at its homes
 * @param workingSet pages that were resident
 */
public record PagerEnd(String reason, boolean saved, WorkingSet workingSet) {}
