package io.farpage.coordinator.access;

import io.farpage.access.CertificateIdentity;
import io.farpage.access.Identity;
import io.farpage.access.TokenRefusedException;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Subject;
import io.farpage.coordinator.model.CertificateRequest;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.JoinRequest;
import io.farpage.rest.ProblemException;
import io.farpage.tls.Pem;
import io.farpage.tls.Tls;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Issues nodes' certificates: the first one for a join token, later ones for the one before. The CA's key is read for each. */
public final class Issuer {

    private static final Logger LOG = LoggerFactory.getLogger(Issuer.class);

    private final Optional<Tls> tls;
    private final Optional<Path> caKey;
    private final Duration lifetime;
    private final JoinTokens tokens;

    /**
     * Makes an issuer.
     *
     * @param tls the coordinator's own certificates; without them it issues none
     * @param caKey the CA's key; without it the issuer refuses with a reason
     * @param lifetime of the certificates
     */
    public Issuer(Optional<Tls> tls, Optional<Path> caKey, Duration lifetime, JoinTokens tokens) {
        this.tls = tls;
        this.caKey = caKey;
        this.lifetime = lifetime;
        this.tokens = tokens;
    }

    /**
     * Issues a node's first certificate.
     *
     * @param client address that the request comes from
     * @throws TokenRefusedException if the join token does not count
     * @throws ProblemException 409 without a CA, 400 for a request that cannot be signed, 403 for addresses that are not the node's
     */
    public IssuedCertificate join(JoinRequest request, String client) throws TokenRefusedException {
        Tls own = requireCa();
        String from = canonical(client);
        JoinTokens.JoinToken token = tokens.use(request.token(), request.node());
        List<String> addresses = request.addresses().orElse(List.of(from)).stream()
                .map(Issuer::canonical)
                .toList();
        List<String> known = token.addresses().stream().map(Issuer::canonical).toList();
        List<String> foreign = addresses.stream()
                .filter(one -> !one.equals(from) && !known.contains(one))
                .toList();
        if (!foreign.isEmpty()) {
            throw new ProblemException(
                    403,
                    "forbidden",
                    "node '%s' asks from %s for a certificate with the address %s; name it when the token is made: coordinator join-token create %s --address %s"
                            .formatted(
                                    request.node(),
                                    from,
                                    String.join(", ", foreign),
                                    request.node(),
                                    foreign.getFirst()));
        }
        List<String> all = new ArrayList<>(addresses);
        known.stream().filter(one -> !all.contains(one)).forEach(all::add);
        return issue(own, request.signingRequest(), Subject.node(request.node(), all));
    }

    /**
     * Issues the certificate that follows a node's present one, with the same names.
     *
     * @param present the certificate that the request was made with
     * @throws ProblemException 409 without a CA, 400 for a request that cannot be signed
     */
    public IssuedCertificate renew(CertificateRequest request, X509Certificate present) {
        Tls own = requireCa();
        if (!(CertificateIdentity.of(present) instanceof Identity.Node)) {
            throw new ProblemException(403, "forbidden", "only a node's certificate is renewed in this way");
        }
        return issue(own, request.signingRequest(), Subject.of(present));
    }

    /** One way to write an IPv6 address, without brackets and zone; anything else as it is. */
    private static String canonical(String host) {
        String bare = host.replaceFirst("^\\[(.*)\\]$", "$1").replaceFirst("%.*$", "");
        if (bare.indexOf(':') < 0) {
            return bare;
        }
        try {
            return InetAddress.getByName(bare).getHostAddress();
        } catch (UnknownHostException e) {
            throw ProblemException.invalid("'" + host + "' is no IP address");
        }
    }

    private Tls requireCa() {
        if (tls.isEmpty()) {
            throw ProblemException.conflict(
                    "no-ca",
                    "this coordinator serves without TLS, so it issues no certificates; set tls.certificate, tls.key, tls.ca and tls.ca_key");
        }
        if (caKey.isEmpty()) {
            throw ProblemException.conflict(
                    "no-ca",
                    "this coordinator has no CA key, so it issues no certificates; set tls.ca_key, or issue them by hand ('coordinator certs issue')");
        }
        return tls.get();
    }

    private IssuedCertificate issue(Tls own, String signingRequest, Subject subject) {
        CertificateAuthority authority = CertificateAuthority.read(own.files().ca(), caKey.orElseThrow());
        X509Certificate certificate;
        try {
            certificate = authority.sign(signingRequest, subject, lifetime);
        } catch (IllegalArgumentException e) {
            throw ProblemException.invalid(String.valueOf(e.getMessage()));
        }
        LOG.info(
                "issued a certificate for {} ({}), valid until {}",
                subject.uri(),
                String.join(", ", subject.hosts()),
                certificate.getNotAfter().toInstant());
        return new IssuedCertificate(
                Pem.encode(certificate) + Pem.encode(authority.certificate()),
                own.ca().stream().map(Pem::encode).collect(Collectors.joining()));
    }
}
