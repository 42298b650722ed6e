package io.farpage.rest;

import io.farpage.access.Access;
import io.farpage.access.CertificateCheck;
import io.farpage.access.CertificateIdentity;
import io.farpage.access.Decision;
import io.farpage.access.Identity;
import io.farpage.access.Terms;
import io.farpage.access.TokenRefusedException;
import io.farpage.access.TokenVerifier;
import io.farpage.limit.RateLimits;
import io.javalin.http.Context;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The one place that decides whether a request may be carried out, and through which every decision of a service goes.
 * A request is first given an identity, from its token or its certificate; then its operation says whether that
 * identity may make it. Every decision, allowed or not, reaches the listeners. Thread-safe.
 */
public final class AccessControl {

    private static final String IDENTITY = "farpage.identity";
    private static final int UNAUTHENTICATED = 401;
    private static final int TOO_SLOW = 408;
    private static final Set<Integer> BAD_BODIES = Set.of(TOO_SLOW, 413, 415);
    private static final String BEARER = "Bearer ";

    private final Terms terms;
    private final Optional<Rules> rules;
    private final Optional<SocketPeer.Identities> local;
    private final BrowserCheck browsers;
    private final Optional<RateLimits> limits;
    private final Optional<RequestAudit> audit;
    private final RefusalLog refusals = new RefusalLog();
    private final List<Consumer<Decision>> listeners = new CopyOnWriteArrayList<>();

    /** What a service with authentication goes by. */
    private record Rules(TokenVerifier tokens, CertificateCheck certificates) {}

    private AccessControl(
            Terms terms,
            Optional<Rules> rules,
            Optional<SocketPeer.Identities> local,
            BrowserCheck browsers,
            Optional<RateLimits> limits,
            Optional<RequestAudit> audit) {
        this.terms = terms;
        this.rules = rules;
        this.local = local;
        this.browsers = browsers;
        this.limits = limits;
        this.audit = audit;
    }

    /**
     * Lets every client do everything, but no web page of another origin.
     *
     * @param names hosts under which the service is reached, beside addresses and this machine's own name
     */
    public static AccessControl open(List<String> names) {
        return new AccessControl(
                Terms.NONE,
                Optional.empty(),
                Optional.empty(),
                BrowserCheck.plain(names),
                Optional.empty(),
                Optional.empty());
    }

    /**
     * Lets an identity do what operations say. For a service with TLS.
     *
     * @param terms what of the configuration decides rights
     * @param tokens knows tokens; certificates have been verified by TLS
     * @param certificates asked for each request with a node's certificate
     */
    public static AccessControl of(Terms terms, TokenVerifier tokens, CertificateCheck certificates) {
        return new AccessControl(
                terms,
                Optional.of(new Rules(tokens, certificates)),
                Optional.empty(),
                BrowserCheck.secure(),
                Optional.empty(),
                Optional.empty());
    }

    /**
     * The same, and a Unix socket besides.
     *
     * @param of what of the configuration decides rights
     * @param identities knows the processes that connect to it
     */
    public AccessControl withSocket(Terms of, SocketPeer.Identities identities) {
        return new AccessControl(of, rules, Optional.of(identities), browsers, limits, audit);
    }

    /** The same with rate limits. Listeners are told to the one that they are given to. */
    public AccessControl limitedBy(RateLimits rates) {
        return new AccessControl(terms, rules, local, browsers, Optional.of(rates), audit);
    }

    /** The same with an audit. */
    public AccessControl auditedBy(RequestAudit to) {
        return new AccessControl(terms, rules, local, browsers, limits, Optional.of(to));
    }

    Optional<RateLimits> limits() {
        return limits;
    }

    Optional<RequestAudit> audit() {
        return audit;
    }

    /**
     * Has every decision from now on told to a listener, on the thread of the request. It must be quick and must not
     * throw.
     */
    public void onDecision(Consumer<Decision> listener) {
        listeners.add(listener);
    }

    /** The identity of a request, after {@link #authenticate}. */
    public static Identity identity(Context ctx) {
        @Nullable Identity identity = ctx.attribute(IDENTITY);
        return identity == null ? new Identity.Stranger("it was not looked at") : identity;
    }

    /** The verified certificate that the client of a request has shown, if it has shown one. */
    public static Optional<X509Certificate> certificate(Context ctx) {
        return Connections.certificate(ctx);
    }

    /**
     * Gives a request its identity.
     *
     * @throws ProblemException 401 if it shows a token that does not count, 403 if a web page of another origin sends
     *     it, 429 if its identity or its address has made too many requests
     */
    void authenticate(Context ctx) {
        try {
            ctx.attribute(IDENTITY, new Identity.Stranger("what it shows does not count"));
            Identity identity = identify(ctx);
            ctx.attribute(IDENTITY, identity);
            requireRate(ctx, identity);
            if (Connections.peer(ctx).isEmpty()) {
                // No web page gets a browser to connect to a Unix socket.
                browsers.check(ctx);
            }
        } catch (ProblemException e) {
            deny(ctx, identity(ctx), e);
        }
    }

    private void requireRate(Context ctx, Identity identity) {
        Optional<Duration> wait = limits.flatMap(rates -> rates.request(identity, address(ctx)));
        if (wait.isPresent()) {
            throw tooMany(
                    wait.get(),
                    identity.isKnown() && !(identity instanceof Identity.Unauthenticated)
                            ? identity + " has made too many requests; see limits.identity_rate"
                            : "%s has made too many requests; see limits.address_rate".formatted(address(ctx)));
        }
    }

    /**
     * Refuses a request with credentials, unlooked at, if its address has shown too many that do not count.
     *
     * @throws ProblemException 429
     */
    public void requireAttempts(Context ctx) {
        pause(ctx).ifPresent(e -> deny(ctx, identity(ctx), e));
    }

    private Optional<ProblemException> pause(Context ctx) {
        return limits.flatMap(rates -> rates.pause(address(ctx)))
                .map(pause -> tooMany(
                        pause,
                        "%s has shown too many credentials that do not count; see limits.failures_per_minute"
                                .formatted(address(ctx))));
    }

    private static ProblemException tooMany(Duration wait, String detail) {
        long seconds = Math.max(1, wait.plusMillis(999).toSeconds());
        return new ProblemException(429, "too-many-requests", "%s; try again in %d s".formatted(detail, seconds))
                .withRetryAfter((int) Math.min(Integer.MAX_VALUE, seconds));
    }

    private void countFailure(Context ctx) {
        limits.ifPresent(rates -> rates.failed(address(ctx)));
    }

    private Identity identify(Context ctx) {
        Optional<SocketPeer> peer = Connections.peer(ctx);
        if (peer.isPresent()) {
            return local.map(identities -> identities.of(peer.get()))
                    .orElseGet(() -> new Identity.Stranger("nothing says which users may do what on this Unix socket"));
        }
        if (rules.isEmpty()) {
            return new Identity.Unauthenticated();
        }
        @Nullable String header = ctx.header("Authorization");
        if (header != null) {
            return byToken(ctx, rules.get().tokens(), header);
        }
        Optional<X509Certificate> certificate = certificate(ctx);
        if (certificate.isEmpty()) {
            return new Identity.Stranger("it has shown neither a client certificate nor a token");
        }
        Instant end = certificate.get().getNotAfter().toInstant();
        if (end.isBefore(Instant.now())) {
            countFailure(ctx);
            return new Identity.Stranger("its certificate '%s' expired at %s"
                    .formatted(CertificateIdentity.subject(certificate.get()), end));
        }
        Identity identity = CertificateIdentity.of(certificate.get());
        Optional<String> refusal = refusal(rules.get(), identity, certificate.get());
        if (refusal.isPresent()) {
            countFailure(ctx);
            ctx.header("Connection", "close");
            return new Identity.Stranger(refusal.get());
        }
        return identity;
    }

    private static Optional<String> refusal(Rules rules, Identity identity, X509Certificate certificate) {
        return identity instanceof Identity.Node node
                ? rules.certificates().refusal(node, certificate)
                : Optional.empty();
    }

    /**
     * Looks again at a certificate after the route's handler, which may have waited long, and before the answer is
     * sent.
     *
     * @throws ProblemException 401 if it no longer counts
     */
    void confirm(Context ctx) {
        Identity identity = identity(ctx);
        Optional<String> refusal =
                rules.flatMap(all -> certificate(ctx).flatMap(certificate -> refusal(all, identity, certificate)));
        if (refusal.isPresent()) {
            deny(ctx, identity, unauthenticated(ctx, refusal.get()));
        }
    }

    private Identity byToken(Context ctx, TokenVerifier tokens, String header) {
        Optional<ProblemException> pause = pause(ctx);
        if (pause.isPresent()) {
            throw pause.get();
        }
        if (!header.regionMatches(true, 0, BEARER, 0, BEARER.length())) {
            countFailure(ctx);
            throw unauthenticated(ctx, "the Authorization header is not 'Bearer TOKEN'");
        }
        try {
            return tokens.verify(header.substring(BEARER.length()).strip());
        } catch (TokenRefusedException e) {
            countFailure(ctx);
            throw unauthenticated(ctx, e.reason());
        }
    }

    private static ProblemException unauthenticated(Context ctx, String reason) {
        if (Connections.peer(ctx).isPresent()) {
            return new ProblemException(
                    403, "forbidden", "%s %s is refused: %s".formatted(ctx.method(), ctx.path(), reason));
        }
        ctx.header("WWW-Authenticate", "Bearer");
        return new ProblemException(
                401,
                "unauthenticated",
                ("%s %s is refused: %s; show a certificate of the cluster's CA (--certificate, --key) or a token"
                                + " ('coordinator token create' makes one)")
                        .formatted(ctx.method(), ctx.path(), reason));
    }

    /**
     * Decides on a request whose operation is known.
     *
     * @throws ProblemException 401 if it needs an identity and has none, 403 if its identity may not do it
     */
    void authorize(Context ctx, Operation<?, ?> operation) {
        Identity identity = identity(ctx);
        Access access = operation.access().under(terms);
        if (!access.allows(identity, ctx::pathParam)) {
            deny(ctx, identity, refusal(ctx, identity, access));
        }
        audit.ifPresent(one -> one.begin(ctx, operation));
        tell(new Decision(identity, address(ctx), operation(ctx), true, ""));
    }

    private static ProblemException refusal(Context ctx, Identity identity, Access access) {
        if (identity instanceof Identity.Stranger stranger) {
            return unauthenticated(ctx, stranger.reason());
        }
        return new ProblemException(
                403,
                "forbidden",
                "%s may not %s %s; it takes %s"
                        .formatted(identity, ctx.method(), ctx.path(), access.needed(ctx::pathParam)));
    }

    /**
     * Refuses a request without identity whose path leads to no route, so that a stranger learns nothing from 404 and
     * 405.
     *
     * @throws ProblemException 401
     */
    void refuseUnrouted(Context ctx) {
        if (identity(ctx) instanceof Identity.Stranger stranger) {
            deny(ctx, stranger, unauthenticated(ctx, stranger.reason()));
        }
    }

    /**
     * Refuses a request for a reason that its route's handler found. Status 401 says that it shows credentials that do
     * not count, such as a join token, and is counted as a failed attempt.
     *
     * @throws ProblemException the reason, always
     */
    public void refuse(Context ctx, Identity identity, ProblemException reason) {
        if (reason.problem(ctx.path()).status() == UNAUTHENTICATED) {
            countFailure(ctx);
        }
        deny(ctx, identity, reason);
    }

    private void deny(Context ctx, Identity identity, ProblemException reason) {
        tell(new Decision(identity, address(ctx), operation(ctx), false, String.valueOf(reason.getMessage())));
        throw reason;
    }

    /** A handshake failed, so no request came. */
    void handshakeRefused(String address, String reason) {
        tell(new Decision(new Identity.Stranger(reason), address, "TLS handshake", false, reason));
        audit.ifPresent(one -> one.handshakeRefused(address, reason));
    }

    /** A request was answered before its identity was looked at, since it cannot be read. */
    void unreadable(String address, int status, String reason) {
        tell(new Decision(new Identity.Stranger(reason), address, "a request", false, status + " " + reason));
        audit.ifPresent(one -> one.unreadable(address, status, reason));
    }

    /** A connection was closed before a byte of it was read. */
    void connectionRefused(String address, String reason) {
        tell(new Decision(new Identity.Stranger(reason), address, "a connection", false, reason));
        audit.ifPresent(one -> one.connectionRefused(address, reason));
    }

    /** A connector has as many connections as it may, and accepts no more until one has ended. */
    void connectorFull(String place, String reason) {
        tell(new Decision(new Identity.Stranger(reason), place, "connections", false, reason));
        audit.ifPresent(one -> one.connectionRefused(place, reason));
    }

    /**
     * A request is answered with a problem that the route's handler found: a body that is too long, or comes too
     * slowly.
     */
    void answeredWith(Context ctx, Problem problem) {
        if (BAD_BODIES.contains(problem.status())) {
            tell(new Decision(identity(ctx), address(ctx), operation(ctx), false, problem.detail()));
        }
    }

    /** A connection was ended before its request was complete. */
    void unfinished(String address, String reason) {
        tell(new Decision(new Identity.Stranger(reason), address, "a request", false, reason));
        audit.ifPresent(one -> one.unreadable(address, TOO_SLOW, reason));
    }

    private void tell(Decision decision) {
        if (!decision.allowed()) {
            refusals.log(decision);
        }
        listeners.forEach(listener -> listener.accept(decision));
    }

    /** From where a request comes: an address, or the user of a Unix socket. */
    static String address(Context ctx) {
        return Connections.peer(ctx).map(SocketPeer::toString).orElseGet(ctx::ip);
    }

    private static String operation(Context ctx) {
        return ctx.method() + " " + ctx.path();
    }
}
