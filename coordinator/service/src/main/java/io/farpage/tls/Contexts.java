package io.farpage.tls;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.KeyStore.PasswordProtection;
import java.security.KeyStore.PrivateKeyEntry;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.PBEParameterSpec;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Makes SSL contexts. Each has session caches of its own, so no session outlives the material that it was agreed with.
 */
final class Contexts {

    private static final char[] NO_PASSWORD = new char[0];
    private static final int SALT = 8;
    private static final int AES_BLOCK = 16;

    private Contexts() {}

    /** A context that shows the program's certificate, if it has one, and trusts its CAs. */
    static SSLContext of(Material material, Function<X509Certificate, Optional<String>> refuse) {
        try {
            return context(keys(material), new PeerTrust(chains(material.ca()), refuse));
        } catch (GeneralSecurityException | IOException e) {
            throw new TlsException("TLS cannot be set up: " + e.getMessage(), e);
        }
    }

    /** A context without a certificate that trusts what a check of its own trusts. */
    static SSLContext trusting(X509ExtendedTrustManager trust) {
        try {
            return context(new KeyManager[0], trust);
        } catch (GeneralSecurityException e) {
            throw new TlsException("TLS cannot be set up: " + e.getMessage(), e);
        }
    }

    private static SSLContext context(KeyManager[] keys, TrustManager trust) throws GeneralSecurityException {
        SSLContext context = SSLContext.getInstance("TLSv1.3");
        context.init(keys, new TrustManager[] {trust}, null);
        return context;
    }

    private static KeyManager[] keys(Material material) throws GeneralSecurityException, IOException {
        if (material.own().isEmpty()) {
            return new KeyManager[0];
        }
        Material.Own own = material.own().get();
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, NO_PASSWORD);
        store.setEntry("own", new PrivateKeyEntry(own.key(), own.chain().toArray(Certificate[]::new)), protection());
        KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
        factory.init(store, NO_PASSWORD);
        return factory.getKeyManagers();
    }

    /**
     * A key store encrypts its keys, and by default derives the key for that in 10,000 rounds, which takes tens of
     * milliseconds. This one never leaves the memory that holds the key in the clear, and has no password, so one round
     * does.
     */
    private static PasswordProtection protection() {
        PBEParameterSpec once = new PBEParameterSpec(new byte[SALT], 1, new IvParameterSpec(new byte[AES_BLOCK]));
        return new PasswordProtection(NO_PASSWORD, "PBEWithHmacSHA256AndAES_256", once);
    }

    /** The JDK's check of chains against some CAs. */
    static X509ExtendedTrustManager chains(List<X509Certificate> ca) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, NO_PASSWORD);
        for (int i = 0; i < ca.size(); i++) {
            store.setCertificateEntry("ca" + i, ca.get(i));
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
        factory.init(store);
        for (TrustManager manager : factory.getTrustManagers()) {
            if (manager instanceof X509ExtendedTrustManager extended) {
                return extended;
            }
        }
        throw new IllegalStateException("the JDK has no X509ExtendedTrustManager");
    }
}
