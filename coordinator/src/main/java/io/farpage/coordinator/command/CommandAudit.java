package io.farpage.coordinator.command;

import io.farpage.audit.Audit;
import io.farpage.audit.AuditEvent;
import io.farpage.audit.AuditEvent.Actor;
import io.farpage.audit.AuditEvent.Outcome;
import io.farpage.audit.AuditEvent.Result;
import io.farpage.audit.AuditKeys;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.coordinator.config.Settings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Supplier;

/**
 * Writes what commands do on the coordinator's host into the coordinator's audit, whether the coordinator runs or not.
 */
final class CommandAudit {

    private static final Audit.Source SOURCE = new Audit.Source("coordinator", "");

    private final Optional<Path> file;
    private final boolean required;

    private CommandAudit(Optional<Path> file, boolean required) {
        this.file = file;
        this.required = required;
    }

    /** The audit of the coordinator with this configuration. */
    static CommandAudit of(Config config) {
        return new CommandAudit(
                AuditKeys.file(config, Optional.of(config.get(Settings.DIRECTORY))), config.get(AuditKeys.REQUIRED));
    }

    /** The audit in a file, for commands that have no configuration. */
    static CommandAudit in(Path file) {
        return new CommandAudit(Optional.of(file), false);
    }

    /**
     * Does something and writes down that it was done, or why not.
     *
     * @param act a word such as {@code token.create}
     * @param target what it is done to; no secret
     * @throws ConfigException if the audit is required and cannot be written; nothing is done then
     */
    <T> T of(String act, String target, Map<String, Object> details, Supplier<T> what) {
        if (required) {
            write(new AuditEvent(
                            Actor.user(), act, target, new Outcome(Result.BEGUN, "", OptionalInt.empty()), details))
                    .ifPresent(reason -> {
                        throw new ConfigException(List.of(reason + "; audit.required is true, so nothing was done"));
                    });
        }
        Outcome outcome = Outcome.failed("");
        try {
            T result = what.get();
            outcome = Outcome.OK;
            return result;
        } catch (RuntimeException e) {
            outcome = Outcome.failed(String.valueOf(e.getMessage()));
            throw e;
        } finally {
            write(new AuditEvent(Actor.user(), act, target, outcome, details))
                    .ifPresent(reason -> System.err.println("coordinator: " + reason));
        }
    }

    /** Why the line is not written; empty if it is. */
    private Optional<String> write(AuditEvent event) {
        if (file.isEmpty()) {
            return Optional.empty();
        }
        try {
            Audit.append(file.get(), SOURCE, event);
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("the audit %s cannot be written: %s".formatted(file.get(), e));
        }
    }
}
