package io.farpage.audit;

import io.farpage.access.Identity;
import io.farpage.log.Printable;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Something that the audit keeps.
 *
 * @param actor on whose behalf, and from where
 * @param act a word such as {@code space.create}; constant in the program, never from a request
 * @param target what it was done to, such as a path or a space; empty if there is nothing to name
 * @param outcome how it ended
 * @param details more fields of the line, by names that are constant in the program
 */
public record AuditEvent(Actor actor, String act, String target, Outcome outcome, Map<String, Object> details) {

    /** Characters of a text that are kept. */
    private static final int LONGEST = 400;

    private static final DateTimeFormatter TIME =
            new DateTimeFormatterBuilder().appendInstant(3).toFormatter(Locale.ROOT);

    /** Copies the details. */
    public AuditEvent {
        details = Map.copyOf(details);
    }

    /** An event without details. */
    public AuditEvent(Actor actor, String act, String target, Outcome outcome) {
        this(actor, act, target, outcome, Map.of());
    }

    /** How an act ended. */
    public enum Result {
        /** It is about to be done; written only where the audit is required. */
        BEGUN,
        /** It was done. */
        OK,
        /** It was not allowed, or not well formed. */
        REFUSED,
        /** It was allowed, and could not be done. */
        FAILED;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * The end of an act.
     *
     * @param reason why it was not done; empty if it was
     * @param status of the HTTP answer, if there was one
     */
    public record Outcome(Result result, String reason, OptionalInt status) {
        /** It was done. */
        public static final Outcome OK = new Outcome(Result.OK, "", OptionalInt.empty());

        /** It was not allowed. */
        public static Outcome refused(String reason) {
            return new Outcome(Result.REFUSED, reason, OptionalInt.empty());
        }

        /** It could not be done. */
        public static Outcome failed(String reason) {
            return new Outcome(Result.FAILED, reason, OptionalInt.empty());
        }
    }

    /**
     * The cause of an event.
     *
     * @param kind {@code node}, {@code coordinator}, a role, {@code unauthenticated}, {@code stranger},
     *     {@code process}, {@code user} or {@code program}
     * @param name node id, name of a token or certificate, or empty
     * @param from address of the client, {@code pid N} of a process, or empty
     */
    public record Actor(String kind, String name, String from) {
        /** The program itself, of its own accord. */
        public static final Actor PROGRAM = new Actor("program", "", "");

        /** The client of a request. */
        public static Actor of(Identity identity, String from) {
            return switch (identity) {
                case Identity.Node(String id) -> new Actor("node", id, from);
                case Identity.Coordinator() -> new Actor("coordinator", "", from);
                case Identity.Principal principal -> new Actor(principal.role().word(), principal.name(), from);
                case Identity.Unauthenticated() -> new Actor("unauthenticated", "", from);
                case Identity.Stranger _ -> new Actor("stranger", "", from);
            };
        }

        /** The user of a command on this host. */
        public static Actor user() {
            return new Actor(
                    "user",
                    System.getProperty("user.name", "unknown"),
                    "pid " + ProcessHandle.current().pid());
        }
    }

    /**
     * The fields of the line in their order.
     *
     * @param node of an agent; empty for the coordinator
     */
    Map<String, Object> fields(Instant time, String program, String node) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("time", TIME.format(time));
        fields.put("program", program);
        putText(fields, "node", node);
        Map<String, Object> who = new LinkedHashMap<>();
        who.put("kind", actor.kind());
        putText(who, "name", actor.name());
        fields.put("who", who);
        putText(fields, "from", actor.from());
        fields.put("act", act);
        putText(fields, "target", target);
        fields.put("result", outcome.result().word());
        putText(fields, "reason", outcome.reason());
        outcome.status().ifPresent(status -> fields.put("status", status));
        details.entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .filter(detail -> !fields.containsKey(detail.getKey()))
                .forEach(detail -> fields.put(
                        detail.getKey(),
                        detail.getValue() instanceof String text ? Printable.of(text, LONGEST) : detail.getValue()));
        return fields;
    }

    private static void putText(Map<String, Object> fields, String name, String text) {
        if (!text.isEmpty()) {
            fields.put(name, Printable.of(text, LONGEST));
        }
    }
}
