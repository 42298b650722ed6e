package io.farpage.rest;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.log.LogLevel;

/**
 * What of the log can be changed while a service runs.
 *
 * @param level from which on entries of farpage's own classes are logged
 */
public record LogSetting(@JsonProperty(required = true) LogLevel level) {}
