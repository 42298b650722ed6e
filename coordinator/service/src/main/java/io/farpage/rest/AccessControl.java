package io.farpage.rest;

import io.farpage.access.Access;
import io.farpage.access.AccessTable;
import io.farpage.access.CertificateIdentity;
import io.farpage.access.Decision;
import io.farpage.access.Identity;
import io.farpage.access.TokenRefusedException;
import io.farpage.access.TokenVerifier;
import io.javalin.http.Context;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The one place that decides whether a request may be carried out, and through which every decision of a service goes. A request is first given
 * an identity, from its token or its certificate; then its route's entry in the table is looked up. A route without an entry is refused. Every
 * decision, allowed or not, reaches the listeners. Thread-safe.
 */
public final class AccessControl {

    private static final String IDENTITY = "farpage.identity";
    private static final String BEARER = "Bearer ";

    private final Optional<Rules> rules;
    private final BrowserCheck browsers;
    private final RefusalLog refusals = new RefusalLog();
    private final List<Consumer<Decision>> listeners = new CopyOnWriteArrayList<>();

    /** What a service with authentication goes by. */
    private record Rules(AccessTable table, TokenVerifier tokens) {}

    private AccessControl(Optional<Rules> rules, BrowserCheck browsers) {
        this.rules = rules;
        this.browsers = browsers;
    }

    /**
     * Lets every client do everything, but no web page of another origin.
     *
     * @param names hosts under which the service is reached, beside addresses and this machine's own name
     */
    public static AccessControl open(List<String> names) {
        return new AccessControl(Optional.empty(), BrowserCheck.plain(names));
    }

    /**
     * Lets an identity do what a table says. For a service with TLS.
     *
     * @param tokens knows tokens; certificates have been verified by TLS
     */
    public static AccessControl of(AccessTable table, TokenVerifier tokens) {
        return new AccessControl(Optional.of(new Rules(table, tokens)), BrowserCheck.secure());
    }

    /** Has every decision from now on told to a listener, on the thread of the request. It must be quick and must not throw. */
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
     * @throws ProblemException 401 if it shows a token that does not count, 403 if a web page of another origin sends it
     */
    void authenticate(Context ctx) {
        try {
            Identity identity = identify(ctx);
            ctx.attribute(IDENTITY, identity);
            browsers.check(ctx);
        } catch (ProblemException e) {
            refuse(ctx, identity(ctx), e);
        }
    }

    private Identity identify(Context ctx) {
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
            return new Identity.Stranger("its certificate '%s' expired at %s"
                    .formatted(CertificateIdentity.subject(certificate.get()), end));
        }
        return CertificateIdentity.of(certificate.get());
    }

    private static Identity byToken(Context ctx, TokenVerifier tokens, String header) {
        if (!header.regionMatches(true, 0, BEARER, 0, BEARER.length())) {
            throw unauthenticated(ctx, "the Authorization header is not 'Bearer TOKEN'");
        }
        try {
            return tokens.verify(header.substring(BEARER.length()).strip());
        } catch (TokenRefusedException e) {
            throw unauthenticated(ctx, e.reason());
        }
    }

    private static ProblemException unauthenticated(Context ctx, String reason) {
        ctx.header("WWW-Authenticate", "Bearer");
        return new ProblemException(
                401,
                "unauthenticated",
                "%s %s is refused: %s; show a certificate of the cluster's CA (--certificate, --key) or a token ('coordinator token create' makes one)"
                        .formatted(ctx.method(), ctx.path(), reason));
    }

    /**
     * Decides on a request whose route is known.
     *
     * @throws ProblemException 401 if it needs an identity and has none, 403 if its identity may not do it
     */
    void authorize(Context ctx, Route route) {
        Identity identity = identity(ctx);
        Optional<Access> access =
                rules.flatMap(all -> all.table().of(route.method().name(), route.path()));
        if (rules.isPresent()
                && !access.map(one -> one.allows(identity, ctx::pathParam)).orElse(false)) {
            refuse(ctx, identity, refusal(ctx, identity, access));
        }
        tell(new Decision(identity, ctx.ip(), operation(ctx), true, ""));
    }

    private static ProblemException refusal(Context ctx, Identity identity, Optional<Access> access) {
        if (identity instanceof Identity.Stranger stranger) {
            return unauthenticated(ctx, stranger.reason());
        }
        return new ProblemException(
                403,
                "forbidden",
                access.map(one -> "%s may not %s %s; it takes %s"
                                .formatted(identity, ctx.method(), ctx.path(), one.needed(ctx::pathParam)))
                        .orElse("%s %s is open to no identity".formatted(ctx.method(), ctx.path())));
    }

    /**
     * Refuses a request without identity whose path leads to no route, so that a stranger learns nothing from 404 and 405.
     *
     * @throws ProblemException 401
     */
    void refuseUnrouted(Context ctx) {
        if (identity(ctx) instanceof Identity.Stranger stranger) {
            refuse(ctx, stranger, unauthenticated(ctx, stranger.reason()));
        }
    }

    /**
     * Refuses a request for a reason that its route's handler found, such as a join token that does not count.
     *
     * @throws ProblemException the reason, always
     */
    public void refuse(Context ctx, Identity identity, ProblemException reason) {
        tell(new Decision(identity, ctx.ip(), operation(ctx), false, String.valueOf(reason.getMessage())));
        throw reason;
    }

    /** A handshake failed, so no request came. */
    void handshakeRefused(String address, String reason) {
        tell(new Decision(new Identity.Stranger(reason), address, "TLS handshake", false, reason));
    }

    private void tell(Decision decision) {
        if (!decision.allowed()) {
            refusals.log(decision);
        }
        listeners.forEach(listener -> listener.accept(decision));
    }

    private static String operation(Context ctx) {
        return ctx.method() + " " + ctx.path();
    }
}
