package io.farpage.audit;

import io.farpage.config.Config;
import io.farpage.config.Key;
import io.farpage.config.ValueTypes;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The configuration keys that every farpage service has for its audit. */
public final class AuditKeys {

    private static final Logger LOG = LoggerFactory.getLogger(AuditKeys.class);
    private static final String OFF = "off";

    /** Where it is written. */
    public static final Key<Optional<String>> FILE = Key.optional(
            "audit.file",
            ValueTypes.text(),
            "File that gets one line of JSON for each administrative act and each refused attempt, of mode 0600; `off`"
                    + " for none. If left out: `audit.json` in the coordinator's `store.directory` or in the agent's"
                    + " `seal.directory`; an agent whose `seal.directory` is not set writes the lines of refused"
                    + " attempts to its log.");

    /** When it is rotated. */
    public static final Key<Long> MAX_SIZE = Key.bytes(
            "audit.max_size",
            "64MiB",
            "4KiB",
            "16GiB",
            "Size at which `audit.file` is renamed and compressed; it is so every day (UTC) too.");

    /** How much is kept. */
    public static final Key<Integer> KEEP =
            Key.integer("audit.keep", 30, 0, 100_000, "Rotated files that are kept; the oldest are deleted.");

    /** Whether nothing is done without it. */
    public static final Key<Boolean> REQUIRED = Key.bool(
            "audit.required",
            false,
            "`true`: an administrative act is done only once a line that announces it is written; otherwise it fails"
                    + " with status 503.");

    /** All of them, in the order of the reference page. */
    public static final List<Key<?>> ALL = List.of(FILE, MAX_SIZE, KEEP, REQUIRED);

    private AuditKeys() {}

    /**
     * The configured file.
     *
     * @param standard directory for {@code audit.json} if none is configured; empty: none
     */
    public static Optional<Path> file(Config config, Optional<Path> standard) {
        Optional<String> configured = config.get(FILE);
        if (configured.isPresent()) {
            return configured.filter(text -> !text.equals(OFF)).map(Path::of);
        }
        return standard.map(directory -> directory.resolve("audit.json"));
    }

    /**
     * Opens what is configured.
     *
     * @throws io.farpage.config.ConfigException if it cannot be written
     */
    public static Audit open(Config config, Audit.Source source, Optional<Path> standard) {
        Optional<Path> file = file(config, standard);
        if (file.isEmpty()) {
            if (config.get(FILE).isPresent()) {
                LOG.info("no audit is kept, as audit.file is 'off'");
                return Audit.off(source);
            }
            LOG.info("the audit of refused attempts goes to this log, and no other is kept; audit.file names a file for"
                    + " all of it");
            return Audit.refusalsInLog(source);
        }
        return Audit.open(
                source, new Audit.Options(file.get(), config.get(MAX_SIZE), config.get(KEEP), config.get(REQUIRED)));
    }
}
