package io.farpage.tls;

import io.farpage.access.CertificateIdentity;
import io.farpage.access.Identity;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertPathValidator;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Something that the owner of a certificate has said, signed with the certificate's key, so that it can pass through
 * hands that are not trusted with it.
 *
 * @param certificates the owner's certificate chain in PEM, its own first
 * @param signature over the statement's bytes, by the algorithm that the key's kind implies (ECDSA and RSA with
 *     SHA-256, or Ed25519), in base64
 */
public record Statement(String certificates, String signature) {
    /** Certificates that a chain may have. */
    private static final int MAX_CHAIN = 8;

    /**
     * Signs {@code bytes}.
     *
     * @throws TlsException if this program has no certificate, or its key cannot sign
     */
    public static Statement sign(Tls tls, byte[] bytes) {
        return tls.withOwn((chain, key) -> {
            String pem = chain.stream().map(Pem::encode).collect(Collectors.joining());
            return new Statement(pem, Base64.getEncoder().encodeToString(sign(key, bytes)));
        });
    }

    private static byte[] sign(PrivateKey key, byte[] bytes) {
        try {
            Signature signer = Signature.getInstance(algorithm(key));
            signer.initSign(key);
            signer.update(bytes);
            return signer.sign();
        } catch (GeneralSecurityException e) {
            throw new TlsException("the key of this program's certificate cannot sign: " + e.getMessage(), e);
        }
    }

    /**
     * Checks that {@code expected} said {@code bytes}: the chain leads to a CA that this program trusts, is valid now
     * and is {@code expected}'s, and the signature is that of its key.
     *
     * @return why not; empty if so
     */
    public Optional<String> refuse(Tls tls, Identity expected, byte[] bytes) {
        try {
            List<X509Certificate> chain = Pem.certificates(certificates, "the certificate chain");
            if (chain.size() > MAX_CHAIN) {
                return Optional.of("its chain has %d certificates; %d are read".formatted(chain.size(), MAX_CHAIN));
            }
            X509Certificate own = chain.getFirst();
            Identity identity = CertificateIdentity.of(own);
            if (!identity.equals(expected)) {
                return Optional.of(
                        "certificate '%s' is not that of %s".formatted(CertificateIdentity.subject(own), expected));
            }
            validate(chain, tls.ca());
            Signature verifier = Signature.getInstance(algorithm(own.getPublicKey()));
            verifier.initVerify(own.getPublicKey());
            verifier.update(bytes);
            return verifier.verify(Base64.getDecoder().decode(signature))
                    ? Optional.empty()
                    : Optional.of("the signature is not that of certificate '%s'"
                            .formatted(CertificateIdentity.subject(own)));
        } catch (GeneralSecurityException | TlsException | IllegalArgumentException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    private static void validate(List<X509Certificate> chain, List<X509Certificate> ca)
            throws GeneralSecurityException {
        PKIXParameters parameters = new PKIXParameters(
                ca.stream().map(one -> new TrustAnchor(one, null)).collect(Collectors.toSet()));
        parameters.setRevocationEnabled(false);
        List<X509Certificate> path =
                chain.stream().filter(one -> !ca.contains(one)).toList();
        CertPathValidator.getInstance("PKIX")
                .validate(CertificateFactory.getInstance("X.509").generateCertPath(path), parameters);
    }

    private static String algorithm(Key key) {
        return switch (key.getAlgorithm()) {
            case "EC" -> "SHA256withECDSA";
            case "RSA" -> "SHA256withRSA";
            default -> "EdDSA";
        };
    }
}
