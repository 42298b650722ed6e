package io.farpage.coordinator.access;

import io.farpage.access.CertificateIdentity;
import io.farpage.access.Identity;
import io.farpage.access.TokenRefusedException;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.SigningRequest;
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
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Issues nodes' certificates: the first one for a join token, later ones for the one before. The CA's key is read for
 * each.
 */
public final class Issuer {

    private static final Logger LOG = LoggerFactory.getLogger(Issuer.class);

    private final Optional<Tls> tls;
    private final Optional<Path> caKey;
    private final Duration lifetime;
    private final JoinTokens tokens;
    private final NodeKeys keys;

    /**
     * Makes an issuer.
     *
     * @param tls the coordinator's own certificates; without them it issues none
     * @param caKey the CA's key; without it the issuer refuses with a reason
     * @param lifetime of the certificates
     * @param keys told the keys of the nodes that join
     */
    public Issuer(Optional<Tls> tls, Optional<Path> caKey, Duration lifetime, JoinTokens tokens, NodeKeys keys) {
        this.tls = tls;
        this.caKey = caKey;
        this.lifetime = lifetime;
        this.tokens = tokens;
        this.keys = keys;
    }

    /**
     * Issues a node's first certificate.
     *
     * @param client address that the request comes from
     * @throws TokenRefusedException if the join token does not count
     * @throws ProblemException 409 without a CA, 400 for a request that cannot be signed, 403 for addresses that are
     *     not the node's
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
                    ("node '%s' asks from %s for a certificate with the address %s; name it when the token is made:"
                                    + " coordinator join-token create %s --address %s")
                            .formatted(
                                    request.node(),
                                    from,
                                    String.join(", ", foreign),
                                    request.node(),
                                    foreign.getFirst()));
        }
        List<String> all = new ArrayList<>(addresses);
        known.stream().filter(one -> !all.contains(one)).forEach(all::add);
        PublicKey key = keyOf(request.signingRequest());
        IssuedCertificate issued = issue(own, key, Subject.node(request.node(), all));
        keys.replace(request.node(), key);
        return issued;
    }

    /**
     * Issues the certificate that follows a node's present one, with the same names and for the same key.
     *
     * @param present the certificate that the request was made with
     * @throws ProblemException 409 without a CA, 400 for a request that cannot be signed, 403 for another key than the
     *     node's
     */
    public IssuedCertificate renew(CertificateRequest request, X509Certificate present) {
        Tls own = requireCa();
        if (!(CertificateIdentity.of(present) instanceof Identity.Node node)) {
            throw new ProblemException(403, "forbidden", "only a node's certificate is renewed in this way");
        }
        PublicKey key = keyOf(request.signingRequest());
        if (!key.equals(present.getPublicKey())) {
            throw new ProblemException(
                    403,
                    "forbidden",
                    ("the signing request is for another key than the present certificate of node '%s'; a new key takes"
                                    + " a join token")
                            .formatted(node.id()));
        }
        if (keys.isForeign(node.id(), key)) {
            throw new ProblemException(
                    403,
                    "forbidden",
                    "node '%s' is known by another key; 'coordinator join-token create %s' lets it join with a new one"
                            .formatted(node.id(), node.id()));
        }
        return issue(own, key, Subject.of(present));
    }

    private static PublicKey keyOf(String signingRequest) {
        try {
            return SigningRequest.publicKey(signingRequest);
        } catch (IllegalArgumentException e) {
            throw ProblemException.invalid(String.valueOf(e.getMessage()));
        }
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
                    "this coordinator serves without TLS, so it issues no certificates; set tls.certificate, tls.key,"
                            + " tls.ca and tls.ca_key");
        }
        if (caKey.isEmpty()) {
            throw ProblemException.conflict(
                    "no-ca",
                    "this coordinator has no CA key, so it issues no certificates; set tls.ca_key, or issue them by"
                            + " hand ('coordinator certs issue')");
        }
        return tls.get();
    }

    private IssuedCertificate issue(Tls own, PublicKey key, Subject subject) {
        CertificateAuthority authority = CertificateAuthority.read(own.files().ca(), caKey.orElseThrow());
        X509Certificate certificate = authority.issue(key, subject, lifetime);
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
