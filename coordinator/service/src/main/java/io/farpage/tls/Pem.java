package io.farpage.tls;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateEncodingException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** PEM files (RFC 7468): certificates, and private keys as PKCS #8. */
public final class Pem {

    private static final Pattern BLOCK =
            Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----\\s+([A-Za-z0-9+/=\\s]+?)-----END \\1-----");
    private static final List<String> KEY_ALGORITHMS = List.of("EC", "RSA", "EdDSA");
    private static final Base64.Encoder LINES = Base64.getMimeEncoder(64, new byte[] {'\n'});
    private static final int LARGEST = 1 << 20;

    private Pem() {}

    /**
     * Reads a file that may be changing.
     *
     * @throws TlsException if it cannot be read or is larger than 1 MiB
     */
    static String read(Path file) {
        try {
            if (Files.size(file) > LARGEST) {
                throw new TlsException(file + " is larger than 1 MiB, so it is no PEM file");
            }
            return Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (NoSuchFileException e) {
            throw new TlsException(file + " does not exist", e);
        } catch (IOException e) {
            throw new TlsException(
                    "%s cannot be read: %s".formatted(file, e.getMessage() == null ? e.toString() : e.getMessage()), e);
        }
    }

    /**
     * The certificates of a text, in order; at least one.
     *
     * @param source names the text in errors
     * @throws TlsException if there is none or one cannot be read
     */
    public static List<X509Certificate> certificates(String text, String source) {
        List<X509Certificate> certificates = new ArrayList<>();
        try {
            CertificateFactory factory = CertificateFactory.getInstance("X.509");
            Matcher blocks = BLOCK.matcher(text);
            while (blocks.find()) {
                if (blocks.group(1).equals("CERTIFICATE")) {
                    byte[] der = Base64.getMimeDecoder().decode(blocks.group(2));
                    certificates.add((X509Certificate) factory.generateCertificate(new ByteArrayInputStream(der)));
                }
            }
        } catch (CertificateException | IllegalArgumentException e) {
            throw new TlsException("%s has a certificate that cannot be read: %s".formatted(source, e.getMessage()), e);
        }
        if (certificates.isEmpty()) {
            throw new TlsException(source + " has no certificate (-----BEGIN CERTIFICATE-----)");
        }
        return certificates;
    }

    /**
     * The private key of a text.
     *
     * @throws TlsException if there is none that is PKCS #8 and not encrypted
     */
    public static PrivateKey privateKey(String text, String source) {
        Matcher blocks = BLOCK.matcher(text);
        String other = "";
        while (blocks.find()) {
            if (blocks.group(1).equals("PRIVATE KEY")) {
                return decode(Base64.getMimeDecoder().decode(blocks.group(2)), source);
            }
            if (blocks.group(1).endsWith("PRIVATE KEY")) {
                other = blocks.group(1);
            }
        }
        throw new TlsException(
                other.isEmpty()
                        ? source + " has no private key (-----BEGIN PRIVATE KEY-----)"
                        : "%s has a key of the form '%s'; convert it: openssl pkcs8 -topk8 -nocrypt -in %s"
                                .formatted(source, other, source));
    }

    private static PrivateKey decode(byte[] der, String source) {
        for (String algorithm : KEY_ALGORITHMS) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(der));
            } catch (InvalidKeySpecException e) {
                // The key has another algorithm. The loop tries the next one.
            } catch (GeneralSecurityException e) {
                throw new TlsException("the JDK has no " + algorithm + " keys", e);
            }
        }
        throw new TlsException(source + " has a private key that is neither EC, RSA nor Ed25519");
    }

    /** A certificate as PEM. */
    public static String encode(X509Certificate certificate) {
        try {
            return block("CERTIFICATE", certificate.getEncoded());
        } catch (CertificateEncodingException e) {
            throw new TlsException("a certificate cannot be encoded", e);
        }
    }

    /** A private key as PKCS #8 in PEM. */
    public static String encode(PrivateKey key) {
        return block("PRIVATE KEY", key.getEncoded());
    }

    /** Any DER as PEM. */
    public static String block(String label, byte[] der) {
        return "-----BEGIN %s-----\n%s\n-----END %s-----\n"
                .formatted(label, new String(LINES.encode(der), StandardCharsets.US_ASCII), label);
    }
}
