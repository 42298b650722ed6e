package io.farpage.access;

import java.security.cert.X509Certificate;
import java.util.Optional;

/**
 * Whether a certificate that TLS has verified still counts. Asked for each request, so that it answers from memory as a
 * rule. Thread-safe.
 */
public interface CertificateCheck {

    /** Every certificate counts. */
    CertificateCheck NONE = (node, certificate) -> Optional.empty();

    /** Why a node's certificate does not count; empty if it does. */
    Optional<String> refusal(Identity.Node node, X509Certificate certificate);
}
