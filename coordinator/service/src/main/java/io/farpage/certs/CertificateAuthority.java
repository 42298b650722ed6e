package io.farpage.certs;

import io.farpage.tls.Pem;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x500.X500NameBuilder;
import org.bouncycastle.asn1.x500.style.BCStyle;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.CertIOException;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** A CA with its key: it issues certificates. Thread-safe. */
public final class CertificateAuthority {

    /** How far clocks may be behind the CA's. */
    static final Duration CLOCK_SKEW = Duration.ofMinutes(5);

    private static final Duration LIFETIME = Duration.ofDays(3650);
    private static final int SERIAL_BITS = 127;
    private static final List<String> LOOPBACK = List.of("localhost", "127.0.0.1", "::1");
    private static final SecureRandom RANDOM = new SecureRandom();

    private final X509Certificate certificate;
    private final PrivateKey key;

    private CertificateAuthority(X509Certificate certificate, PrivateKey key) {
        this.certificate = certificate;
        this.key = key;
    }

    /** A CA whose private key is known, for storing it. */
    public record Made(CertificateAuthority authority, PrivateKey key) {}

    /** Makes a CA with a key and a name of its own. */
    public static Made make() {
        KeyPair pair = Keys.generate();
        byte[] tag = new byte[4];
        RANDOM.nextBytes(tag);
        X500Name name = name("farpage CA " + HexFormat.of().formatHex(tag));
        try {
            X509v3CertificateBuilder builder = builder(name, name, pair.getPublic(), LIFETIME);
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(0));
            builder.addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign));
            builder.addExtension(
                    Extension.subjectKeyIdentifier,
                    false,
                    new JcaX509ExtensionUtils().createSubjectKeyIdentifier(pair.getPublic()));
            return new Made(
                    new CertificateAuthority(sign(builder, pair.getPrivate()), pair.getPrivate()), pair.getPrivate());
        } catch (GeneralSecurityException | CertIOException e) {
            throw new TlsException("a CA cannot be made: " + e.getMessage(), e);
        }
    }

    /**
     * Reads a CA.
     *
     * @throws TlsException if a file cannot be read or the certificate is no CA's
     */
    public static CertificateAuthority read(Path certificateFile, Path keyFile) {
        X509Certificate certificate = Pem.certificates(text(certificateFile), certificateFile.toString())
                .getFirst();
        if (certificate.getBasicConstraints() < 0) {
            throw new TlsException("the certificate in " + certificateFile + " is not a CA's");
        }
        return new CertificateAuthority(certificate, Pem.privateKey(text(keyFile), keyFile.toString()));
    }

    private static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new TlsException("%s cannot be read: %s".formatted(file, e.getMessage()), e);
        }
    }

    /** The CA's certificate. */
    public X509Certificate certificate() {
        return certificate;
    }

    /** Issues a certificate. It is valid from five minutes ago, and never for longer than the CA. */
    public X509Certificate issue(PublicKey holder, Subject subject, Duration lifetime) {
        try {
            X500Name issuer =
                    X500Name.getInstance(certificate.getSubjectX500Principal().getEncoded());
            X509v3CertificateBuilder builder = builder(issuer, name(subject.name()), holder, withinOwn(lifetime));
            JcaX509ExtensionUtils extensions = new JcaX509ExtensionUtils();
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(false));
            builder.addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature));
            builder.addExtension(Extension.extendedKeyUsage, false, usages(subject));
            builder.addExtension(Extension.subjectAlternativeName, false, names(subject));
            builder.addExtension(
                    Extension.authorityKeyIdentifier, false, extensions.createAuthorityKeyIdentifier(certificate));
            builder.addExtension(Extension.subjectKeyIdentifier, false, extensions.createSubjectKeyIdentifier(holder));
            return sign(builder, key);
        } catch (GeneralSecurityException | CertIOException e) {
            throw new TlsException(
                    "a certificate for '%s' cannot be issued: %s".formatted(subject.name(), e.getMessage()), e);
        }
    }

    private Duration withinOwn(Duration lifetime) {
        Duration own = Duration.between(Instant.now(), certificate.getNotAfter().toInstant());
        return lifetime.compareTo(own) > 0 ? own : lifetime;
    }

    private static ExtendedKeyUsage usages(Subject subject) {
        return subject.isServer()
                ? new ExtendedKeyUsage(
                        new KeyPurposeId[] {KeyPurposeId.id_kp_serverAuth, KeyPurposeId.id_kp_clientAuth})
                : new ExtendedKeyUsage(KeyPurposeId.id_kp_clientAuth);
    }

    private static GeneralNames names(Subject subject) {
        List<GeneralName> names = new ArrayList<>();
        names.add(new GeneralName(GeneralName.uniformResourceIdentifier, subject.uri()));
        if (subject.isServer()) {
            Set<String> hosts = new LinkedHashSet<>(subject.hosts());
            hosts.addAll(LOOPBACK);
            hosts.forEach(host ->
                    names.add(new GeneralName(isAddress(host) ? GeneralName.iPAddress : GeneralName.dNSName, host)));
        }
        return new GeneralNames(names.toArray(GeneralName[]::new));
    }

    /** Whether a host is an IP address in text, not a name. */
    public static boolean isAddress(String host) {
        return host.indexOf(':') >= 0 || host.matches("\\d{1,3}(\\.\\d{1,3}){3}");
    }

    private static X500Name name(String commonName) {
        return new X500NameBuilder().addRDN(BCStyle.CN, commonName).build();
    }

    private static X509v3CertificateBuilder builder(
            X500Name issuer, X500Name subject, PublicKey key, Duration lifetime) {
        Instant now = Instant.now();
        return new JcaX509v3CertificateBuilder(
                issuer,
                new BigInteger(SERIAL_BITS, RANDOM),
                Date.from(now.minus(CLOCK_SKEW)),
                Date.from(now.plus(lifetime)),
                subject,
                key);
    }

    private static X509Certificate sign(X509v3CertificateBuilder builder, PrivateKey key)
            throws GeneralSecurityException {
        try {
            return new JcaX509CertificateConverter()
                    .getCertificate(builder.build(new JcaContentSignerBuilder(Keys.signatureOf(key)).build(key)));
        } catch (OperatorCreationException e) {
            throw new GeneralSecurityException("the CA's key cannot sign: " + e.getMessage(), e);
        }
    }
}
