package io.farpage.log;

/** How entries of the log are written. */
public enum LogFormat {
    /** One line for people: time, level, class and message. */
    TEXT,
    /** One JSON object a line. */
    JSON
}
