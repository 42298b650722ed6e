package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * How much of a guest's memory may be resident: the body of {@code PUT /spaces/{space}/guest/local}.
 *
 * @param localBytes 256 KiB or more
 */
public record LocalLimit(@JsonProperty(required = true) long localBytes) {}
