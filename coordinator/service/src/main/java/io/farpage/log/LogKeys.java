package io.farpage.log;

import io.farpage.config.Config;
import io.farpage.config.Key;
import java.util.List;

/** The configuration keys that every farpage service has for its log. */
public final class LogKeys {
    /** How it is written. */
    public static final Key<LogFormat> FORMAT = Key.choice(
            "log.format",
            LogFormat.TEXT,
            "Format of the log, which goes to standard error: `text`, or one object of `json` a line.");

    /** From which level on. */
    public static final Key<LogLevel> LEVEL = Key.choice(
            "log.level",
            LogLevel.INFO,
            "From which level on entries of farpage's own classes are logged. `PUT /log` changes it while the service"
                    + " runs.");

    /** All of them, in the order of the reference page. */
    public static final List<Key<?>> ALL = List.of(FORMAT, LEVEL);

    private LogKeys() {}

    /** Has this process log as configured. */
    public static void apply(Config config) {
        LogOutput.format(config.get(FORMAT));
        LogOutput.level(config.get(LEVEL));
    }
}
