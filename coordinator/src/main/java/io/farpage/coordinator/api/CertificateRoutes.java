package io.farpage.coordinator.api;

import io.farpage.access.Identity;
import io.farpage.access.TokenRefusedException;
import io.farpage.coordinator.access.Issuer;
import io.farpage.coordinator.model.CertificateRequest;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.JoinRequest;
import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.rest.AccessControl;
import io.farpage.rest.ProblemException;
import io.farpage.rest.RequestAudit;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.function.Predicate;

/** Where nodes get their certificates. */
final class CertificateRoutes {

    /** A signing request and a token are far shorter. */
    private static final int BODY = 32 << 10;

    private final Issuer issuer;
    private final Predicate<String> isExpected;
    private final AccessControl control;

    /** @param isExpected whether a node id is of the cluster; the certificates of others are not renewed */
    CertificateRoutes(Issuer issuer, Predicate<String> isExpected, AccessControl control) {
        this.issuer = issuer;
        this.isExpected = isExpected;
        this.control = control;
    }

    List<Route> routes() {
        return List.of(
                new Route(ClusterOperations.JOIN, this::join),
                Route.answering(NodeOperations.RENEW_CERTIFICATE, this::renew));
    }

    private void join(Context ctx) throws IOException {
        control.requireAttempts(ctx);
        JoinRequest request = Requests.body(ctx, ClusterOperations.JOIN, BODY);
        RequestAudit.note(ctx, "joins", request.node());
        try {
            ctx.json(issuer.join(request, ctx.ip()));
        } catch (TokenRefusedException e) {
            control.refuse(
                    ctx,
                    new Identity.Stranger("it shows a join token for node '" + request.node() + "'"),
                    new ProblemException(401, "join-refused", e.reason()));
        }
    }

    private IssuedCertificate renew(Context ctx) throws IOException {
        CertificateRequest request = Requests.body(ctx, NodeOperations.RENEW_CERTIFICATE, BODY);
        String node = ctx.pathParam("id");
        if (!isExpected.test(node)) {
            throw new ProblemException(
                    403,
                    "forbidden",
                    "node '%s' is neither registered nor in the inventory, so its certificate is not renewed"
                            .formatted(node));
        }
        X509Certificate present = AccessControl.certificate(ctx)
                .orElseThrow(() -> ProblemException.conflict(
                        "no-ca",
                        "a certificate is renewed over TLS, with the present one; this connection shows none"));
        return issuer.renew(request, present);
    }
}
