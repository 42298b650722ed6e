package io.farpage.certs;

import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;

/**
 * When a certificate is due for renewal: after two thirds of its life, so that a CA that is away for a third of it does
 * no harm.
 */
public final class RenewalTime {

    private RenewalTime() {}

    /** When it is due. */
    public static Instant of(X509Certificate certificate) {
        Instant begin = certificate.getNotBefore().toInstant().plus(CertificateAuthority.CLOCK_SKEW);
        return begin.plus(lifetime(certificate).multipliedBy(2).dividedBy(3));
    }

    /** How long it was issued for. */
    public static Duration lifetime(X509Certificate certificate) {
        Duration life = Duration.between(
                certificate.getNotBefore().toInstant().plus(CertificateAuthority.CLOCK_SKEW),
                certificate.getNotAfter().toInstant());
        return life.isNegative() || life.isZero()
                ? Duration.between(
                        certificate.getNotBefore().toInstant(),
                        certificate.getNotAfter().toInstant())
                : life;
    }
}
