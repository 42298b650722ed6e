package io.farpage.agent.control.guest;

import java.util.OptionalLong;

/**
 * That a guest is parked: the body of {@code POST /spaces/{space}/guest/park}.
 *
 * @param keepBytes of its memory that may stay resident, 1 MiB if left out; 64 pages of 4 KiB at least, or 16 of 2 MiB,
 *     for each pager of the guest
 * @param deadlineMillis how long the answer may wait until the rest has left, 10 s if left out, 20 s at most
 */
public record ParkRequest(OptionalLong keepBytes, OptionalLong deadlineMillis) {}
