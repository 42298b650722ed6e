package io.farpage.tls;

import io.farpage.access.CertificateIdentity;
import io.farpage.access.Identity;
import java.security.cert.X509Certificate;
import java.util.Optional;

/** What a client expects of the server's certificate, beside the CA and the host name. */
public enum Peer {
    /** The URI {@code farpage://coordinator}: a node's certificate does not make a coordinator. */
    COORDINATOR,
    /** The URI of any node. */
    AGENT;

    /** Why a certificate is not the expected peer's; empty if it is. */
    Optional<String> refuse(X509Certificate certificate) {
        Identity identity = CertificateIdentity.of(certificate);
        boolean expected = switch (this) {
            case COORDINATOR -> identity instanceof Identity.Coordinator;
            case AGENT -> identity instanceof Identity.Node;
        };
        return expected
                ? Optional.empty()
                : Optional.of("certificate '%s' is %s; expected is %s"
                        .formatted(
                                CertificateIdentity.subject(certificate),
                                identity instanceof Identity.Stranger stranger
                                        ? "of no farpage program (" + stranger.reason() + ")"
                                        : "that of " + identity,
                                this == COORDINATOR
                                        ? "the coordinator's, with the URI " + CertificateIdentity.COORDINATOR
                                        : "a node's"));
    }
}
