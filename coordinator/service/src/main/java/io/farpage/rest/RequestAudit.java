package io.farpage.rest;

import io.farpage.access.Identity;
import io.farpage.audit.Audit;
import io.farpage.audit.AuditEvent;
import io.farpage.audit.AuditEvent.Actor;
import io.farpage.audit.AuditEvent.Outcome;
import io.farpage.audit.AuditEvent.Result;
import io.farpage.audit.AuditUnavailableException;
import io.javalin.http.Context;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Tells the audit of a service's requests: those that change something, and those that are refused. Bodies, headers and
 * query parameters never reach the audit, nor do the details of a body that cannot be read. Thread-safe.
 */
public final class RequestAudit {

    /** Answers that mean that a client did what it may not, rather than that an act did not succeed. */
    private static final Set<Integer> REFUSALS = Set.of(401, 403, 408, 413, 414, 415, 421, 429, 431);

    /** What the audit calls a request that leads to no operation. */
    private static final String REQUEST = "request";

    private static final String NOTES = "farpage.audit.notes";
    private static final String ACT = "farpage.audit.act";
    private static final String PROBLEM = "farpage.audit.problem";
    private static final int INVALID = 400;

    private final Audit audit;

    public RequestAudit(Audit audit) {
        this.audit = audit;
    }

    Audit audit() {
        return audit;
    }

    /**
     * Adds a field to the line of a request.
     *
     * @param name constant in the program
     * @param value text, number or boolean; no secret
     */
    public static void note(Context ctx, String name, Object value) {
        @Nullable Map<String, Object> notes = ctx.attribute(NOTES);
        if (notes == null) {
            notes = new LinkedHashMap<>();
            ctx.attribute(NOTES, notes);
        }
        notes.put(name, value);
    }

    /**
     * Makes an act of a request for a routine operation: its line is kept, under this word, but not announced.
     *
     * @param word constant in the program
     */
    public static void act(Context ctx, String word) {
        ctx.attribute(ACT, word);
    }

    /** What a request is answered with, if it is not carried out. */
    static void answeredWith(Context ctx, Problem problem) {
        ctx.attribute(PROBLEM, problem);
    }

    /**
     * Announces an act, where the audit is required.
     *
     * @throws ProblemException 503 if the line cannot be written
     */
    void begin(Context ctx, Operation<?, ?> operation) {
        if (!audit.isRequired() || operation.act().equals(Operation.ROUTINE)) {
            return;
        }
        try {
            audit.require(event(ctx, Optional.of(operation), new Outcome(Result.BEGUN, "", OptionalInt.empty())));
        } catch (AuditUnavailableException e) {
            throw new ProblemException(503, "audit-unavailable", e.reason());
        }
    }

    /**
     * A request has been answered.
     *
     * @param operation empty if it leads to none
     */
    void end(Context ctx, Optional<Operation<?, ?>> operation) {
        int status = ctx.statusCode();
        Result result = result(status);
        boolean isAct = ctx.attribute(ACT) != null || act(ctx, operation).isPresent();
        if (isAct || result == Result.REFUSED) {
            audit.record(event(ctx, operation, new Outcome(result, reason(ctx), OptionalInt.of(status))));
        }
    }

    private static Optional<String> act(Context ctx, Optional<Operation<?, ?>> operation) {
        return operation
                .filter(one -> one.method().name().equals(ctx.method().name()))
                .<String>map(Operation::act)
                .filter(act -> !act.equals(Operation.ROUTINE));
    }

    private static Result result(int status) {
        if (status < INVALID) {
            return Result.OK;
        }
        return REFUSALS.contains(status) ? Result.REFUSED : Result.FAILED;
    }

    /** The detail of status 400 may repeat what the body has, such as a token in the wrong place. */
    private static String reason(Context ctx) {
        @Nullable Problem problem = ctx.attribute(PROBLEM);
        if (problem == null) {
            return "";
        }
        return problem.status() == INVALID ? problem.title() : problem.detail();
    }

    private AuditEvent event(Context ctx, Optional<Operation<?, ?>> operation, Outcome outcome) {
        Map<String, Object> details = new LinkedHashMap<>();
        @Nullable Map<String, Object> notes = ctx.attribute(NOTES);
        if (notes != null) {
            details.putAll(notes);
        }
        Identity identity = AccessControl.identity(ctx);
        if (identity instanceof Identity.Principal principal) {
            details.put("proof", principal.proof());
        }
        details.put("method", ctx.method().name());
        @Nullable String act = ctx.attribute(ACT);
        String word = act != null
                ? act
                : act(ctx, operation)
                        .or(() -> operation.map(one -> ctx.method() + " " + one.path()))
                        .orElse(REQUEST);
        return new AuditEvent(Actor.of(identity, AccessControl.address(ctx)), word, ctx.path(), outcome, details);
    }

    /** A TLS handshake failed, so no request came. */
    void handshakeRefused(String address, String reason) {
        audit.record(new AuditEvent(
                Actor.of(new Identity.Stranger(reason), address), "tls.handshake", "", Outcome.refused(reason)));
    }

    /** A connection was closed before a byte of it was read. */
    void connectionRefused(String address, String reason) {
        audit.record(new AuditEvent(
                Actor.of(new Identity.Stranger(reason), address), "connection", "", Outcome.refused(reason)));
    }

    /** A request could not be read, so that it was answered before its identity was looked at. */
    void unreadable(String address, int status, String reason) {
        audit.record(new AuditEvent(
                Actor.of(new Identity.Stranger(reason), address),
                REQUEST,
                "",
                new Outcome(Result.REFUSED, reason, OptionalInt.of(status))));
    }
}
