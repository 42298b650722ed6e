package io.farpage.log;

import com.fasterxml.jackson.annotation.JsonProperty;

/** From which level on entries are logged. */
public enum LogLevel {
    /** All. */
    @JsonProperty("trace")
    TRACE,
    /** What helps to find a fault in farpage. */
    @JsonProperty("debug")
    DEBUG,
    /** What happens and need not be acted on. */
    @JsonProperty("info")
    INFO,
    /** What may need an action. */
    @JsonProperty("warn")
    WARN,
    /** What needs an action. */
    @JsonProperty("error")
    ERROR
}
