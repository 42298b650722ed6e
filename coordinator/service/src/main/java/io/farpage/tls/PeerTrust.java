package io.farpage.tls;

import io.farpage.access.CertificateIdentity;
import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Optional;
import java.util.function.Function;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * The JDK's check of a certificate chain, host name included, and after it a check of the identity. Its errors name the
 * certificate, for logs on either side.
 */
final class PeerTrust extends X509ExtendedTrustManager {

    private final X509ExtendedTrustManager chains;
    private final Function<X509Certificate, Optional<String>> refuse;

    PeerTrust(X509ExtendedTrustManager chains, Function<X509Certificate, Optional<String>> refuse) {
        this.chains = chains;
        this.refuse = refuse;
    }

    private interface Check {
        void run() throws CertificateException;
    }

    private void check(X509Certificate[] chain, Check check) throws CertificateException {
        try {
            check.run();
        } catch (CertificateException e) {
            throw new CertificateException(explain(chain, e), e);
        }
        Optional<String> reason = refuse.apply(chain[0]);
        if (reason.isPresent()) {
            throw new CertificateException(reason.get());
        }
    }

    private static String explain(X509Certificate[] chain, CertificateException e) {
        if (chain.length == 0) {
            return "no certificate was shown";
        }
        X509Certificate certificate = chain[0];
        String subject = CertificateIdentity.subject(certificate);
        Instant end = certificate.getNotAfter().toInstant();
        if (end.isBefore(Instant.now())) {
            return "certificate '%s' expired at %s".formatted(subject, end);
        }
        String reason = e.getMessage() == null ? e.toString() : e.getMessage();
        if (reason.contains("unable to find valid certification path") || reason.contains("signature check failed")) {
            return "certificate '%s' is issued by '%s', which is not a trusted CA"
                    .formatted(
                            subject,
                            certificate.getIssuerX500Principal().getName().replaceAll("[^ -~]", "?"));
        }
        return "certificate '%s': %s".formatted(subject, reason);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        check(chain, () -> chains.checkClientTrusted(chain, type, engine));
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        check(chain, () -> chains.checkServerTrusted(chain, type, engine));
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        check(chain, () -> chains.checkClientTrusted(chain, type, socket));
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        check(chain, () -> chains.checkServerTrusted(chain, type, socket));
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
        check(chain, () -> chains.checkClientTrusted(chain, type));
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
        check(chain, () -> chains.checkServerTrusted(chain, type));
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return chains.getAcceptedIssuers();
    }
}
