package io.farpage.tls;

import io.farpage.access.CertificateIdentity;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.InvalidAlgorithmParameterException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertPathValidator;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What the files hold at one moment, checked: the key fits the certificate, and the certificate is valid now and leads
 * to a trusted CA.
 *
 * @param ca the CAs that are trusted
 * @param own certificate chain and key, if the program has them
 */
record Material(List<X509Certificate> ca, Optional<Own> own) {

    /**
     * A certificate chain and its key.
     *
     * @param chain the program's certificate first; the last one is a CA's where the file or {@code ca} has it
     */
    record Own(List<X509Certificate> chain, PrivateKey key) {
        X509Certificate certificate() {
            return chain.getFirst();
        }
    }

    /** What the files hold at one moment, to see whether they have changed. */
    record Texts(String ca, String certificate, String key) {
        static Texts read(TlsFiles files) {
            return new Texts(
                    Pem.read(files.ca()),
                    files.own().map(own -> Pem.read(own.certificate())).orElse(""),
                    files.own().map(own -> Pem.read(own.key())).orElse(""));
        }

        /** Without the key. */
        @Override
        public String toString() {
            return "contents of certificate files";
        }
    }

    /**
     * Reads and checks what the files held.
     *
     * @throws TlsException if something does not fit
     */
    static Material of(TlsFiles files, Texts texts) {
        List<X509Certificate> ca = Pem.certificates(texts.ca(), files.ca().toString());
        return new Material(ca, files.own().map(own -> own(own, texts, ca, files)));
    }

    private static Own own(TlsFiles.Own files, Texts texts, List<X509Certificate> ca, TlsFiles all) {
        List<X509Certificate> chain =
                Pem.certificates(texts.certificate(), files.certificate().toString());
        PrivateKey key = Pem.privateKey(texts.key(), files.key().toString());
        X509Certificate certificate = chain.getFirst();
        if (!belongsTo(key, certificate)) {
            throw new TlsException("the key in %s is not the one of the certificate in %s"
                    .formatted(files.key(), files.certificate()));
        }
        checkDates(certificate, files);
        checkIssued(chain, ca, files, all);
        return new Own(withIssuer(chain, ca), key);
    }

    private static void checkDates(X509Certificate certificate, TlsFiles.Own files) {
        Instant now = Instant.now();
        Instant end = certificate.getNotAfter().toInstant();
        if (end.isBefore(now)) {
            throw new TlsException("the certificate '%s' in %s expired at %s; renew it"
                    .formatted(CertificateIdentity.subject(certificate), files.certificate(), end));
        }
        Instant begin = certificate.getNotBefore().toInstant();
        if (begin.isAfter(now)) {
            throw new TlsException("the certificate '%s' in %s is valid only from %s; look at this host's clock"
                    .formatted(CertificateIdentity.subject(certificate), files.certificate(), begin));
        }
    }

    private static void checkIssued(
            List<X509Certificate> chain, List<X509Certificate> ca, TlsFiles.Own files, TlsFiles all) {
        List<X509Certificate> path =
                chain.stream().filter(certificate -> !ca.contains(certificate)).toList();
        try {
            PKIXParameters parameters = new PKIXParameters(
                    ca.stream().map(anchor -> new TrustAnchor(anchor, null)).collect(Collectors.toSet()));
            parameters.setRevocationEnabled(false);
            CertPathValidator.getInstance("PKIX")
                    .validate(CertificateFactory.getInstance("X.509").generateCertPath(path), parameters);
        } catch (CertPathValidatorException | InvalidAlgorithmParameterException e) {
            throw new TlsException(
                    "the certificate '%s' in %s is not issued by a CA in %s: %s"
                            .formatted(
                                    CertificateIdentity.subject(chain.getFirst()),
                                    files.certificate(),
                                    all.ca(),
                                    e.getMessage()),
                    e);
        } catch (GeneralSecurityException e) {
            throw new TlsException("certificates cannot be checked: " + e.getMessage(), e);
        }
    }

    /** A program that joins pins the CA, so the chain that is shown ends with the CA's certificate. */
    private static List<X509Certificate> withIssuer(List<X509Certificate> chain, List<X509Certificate> ca) {
        X509Certificate last = chain.getLast();
        List<X509Certificate> whole = new ArrayList<>(chain);
        if (!last.getSubjectX500Principal().equals(last.getIssuerX500Principal())) {
            ca.stream()
                    .filter(one -> one.getSubjectX500Principal().equals(last.getIssuerX500Principal()))
                    .findFirst()
                    .ifPresent(whole::add);
        }
        return List.copyOf(whole);
    }

    private static boolean belongsTo(PrivateKey key, X509Certificate certificate) {
        String algorithm = switch (key.getAlgorithm()) {
            case "EC" -> "SHA256withECDSA";
            case "RSA" -> "SHA256withRSA";
            default -> "EdDSA";
        };
        byte[] probe = "farpage".getBytes(StandardCharsets.US_ASCII);
        try {
            Signature signer = Signature.getInstance(algorithm);
            signer.initSign(key);
            signer.update(probe);
            byte[] signature = signer.sign();
            Signature verifier = Signature.getInstance(algorithm);
            verifier.initVerify(certificate.getPublicKey());
            verifier.update(probe);
            return verifier.verify(signature);
        } catch (GeneralSecurityException e) {
            return false; // of another algorithm, so not of this certificate
        }
    }
}
