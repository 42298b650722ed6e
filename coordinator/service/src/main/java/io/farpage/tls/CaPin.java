package io.farpage.tls;

import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Trust in one CA that is known by its hash alone, for a host that joins and has no files yet. The coordinator shows
 * its chain with the CA's certificate; if that has the hash, the chain is checked against it, host name and identity
 * included.
 */
public final class CaPin {

    private static final Pattern FORM = Pattern.compile("sha256:[0-9a-f]{64}");

    private final String hash;

    private CaPin(String hash) {
        this.hash = hash;
    }

    /**
     * Reads a hash.
     *
     * @throws IllegalArgumentException if it is not {@code sha256:} and 64 hex digits
     */
    public static CaPin parse(String text) {
        if (!FORM.matcher(text).matches()) {
            throw new IllegalArgumentException("'" + text + "' is not sha256: and 64 hex digits");
        }
        return new CaPin(text);
    }

    /** What pins a CA: the SHA-256 of its public key (SubjectPublicKeyInfo), as {@code sha256:} and hex digits. */
    public static String hash(X509Certificate ca) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256")
                    .digest(ca.getPublicKey().getEncoded());
            return "sha256:" + HexFormat.of().formatHex(digest);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("the JDK has no SHA-256", e);
        }
    }

    /** For a connection to the coordinator. */
    public SSLContext context() {
        return Contexts.trusting(new Trust());
    }

    /** Whether a CA is the one. */
    public boolean matches(X509Certificate ca) {
        return hash(ca).equals(hash);
    }

    private PeerTrust trust(X509Certificate[] chain) throws CertificateException {
        Optional<X509Certificate> ca = Arrays.stream(chain)
                .filter(one -> one.getBasicConstraints() >= 0)
                .filter(this::matches)
                .findFirst();
        if (ca.isEmpty()) {
            throw new CertificateException(
                    ("it shows no CA with the hash %s; look at --ca-hash, and whether the coordinator's tls.ca holds"
                                    + " its CA")
                            .formatted(hash));
        }
        try {
            return new PeerTrust(Contexts.chains(List.of(ca.get())), Peer.COORDINATOR::refuse);
        } catch (GeneralSecurityException | IOException e) {
            throw new CertificateException("the chain cannot be checked: " + e.getMessage(), e);
        }
    }

    private final class Trust extends X509ExtendedTrustManager {
        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            trust(chain).checkServerTrusted(chain, type, engine);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            trust(chain).checkServerTrusted(chain, type, socket);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            throw new CertificateException("the host name cannot be checked");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            throw new CertificateException("clients are not checked");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            throw new CertificateException("clients are not checked");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            throw new CertificateException("clients are not checked");
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
