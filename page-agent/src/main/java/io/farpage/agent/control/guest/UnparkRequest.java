package io.farpage.agent.control.guest;

import java.util.OptionalLong;

/**
 * That a guest is no longer parked: the body of {@code POST /spaces/{space}/guest/unpark}.
 *
 * @param localBytes how much of its memory may be resident from now on, 256 KiB or more; as before it was parked if
 *     left out
 */
public record UnparkRequest(OptionalLong localBytes) {}
