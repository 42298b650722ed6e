package io.farpage.agent.data.pager;

/**
 * How a guest's paging ended.
 *
 * @param reason why, for people
 * @param saved whether all of the guest's memory is at its homes
 */
public record PagerEnd(String reason, boolean saved) {}
