package io.farpage.it.harness;

import io.farpage.access.Role;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.Subject;
import io.farpage.tls.Pem;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsFiles;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;

/** A CA and what it has issued, in files as the programs use them. */
public final class Certificates {
    private static final Duration DAY = Duration.ofDays(1);

    private final Path directory;
    private final CertificateAuthority authority;
    private final Map<String, X509Certificate> latest = new HashMap<>();

    /** Makes a CA with the coordinator's certificate. */
    public Certificates(Path directory) {
        this.directory = directory;
        CertificateAuthority.Made made = CertificateAuthority.make();
        authority = made.authority();
        PrivateFiles.makeDirectory(directory);
        PrivateFiles.create(file("ca.key"), Pem.encode(made.key()));
        PrivateFiles.create(file("ca.pem"), Pem.encode(authority.certificate()));
        issue("coordinator", Subject.coordinator(List.of()), DAY);
    }

    public Path file(String name) {
        return directory.resolve(name);
    }

    /** Issues a certificate for a new key. */
    public void issue(String name, Subject subject, Duration lifetime) {
        KeyPair pair = Keys.generate();
        X509Certificate issued = authority.issue(pair.getPublic(), subject, lifetime);
        PrivateFiles.create(file(name + ".key"), Pem.encode(pair.getPrivate()));
        PrivateFiles.create(file(name + ".pem"), chain(issued));
        latest.put(name, issued);
    }

    private String chain(X509Certificate issued) {
        return Pem.encode(issued) + Pem.encode(authority.certificate());
    }

    /** Whether a certificate has expired. */
    public boolean isOver(String name) {
        return Optional.ofNullable(latest.get(name))
                .orElseThrow()
                .getNotAfter()
                .toInstant()
                .isBefore(Instant.now());
    }

    /** Issues a certificate for a node, unless it has one. */
    public Map<String, String> node(String id) {
        if (!Files.exists(file(id + ".pem"))) {
            issue(id, Subject.node(id, List.of()), DAY);
        }
        return settings(id);
    }

    /** Issues a certificate for a role, under its name. */
    public Rest as(Role role, Rest rest) {
        if (!Files.exists(file(role.word() + ".pem"))) {
            issue(role.word(), Subject.role(role.word(), role), DAY);
        }
        return rest.with(tls(role.word()));
    }

    /** Puts another certificate for the same key into a file, in one step, whatever the file holds. */
    public X509Certificate renew(String name) {
        X509Certificate present = Optional.ofNullable(latest.get(name)).orElseThrow();
        X509Certificate next = authority.issue(present.getPublicKey(), Subject.of(present), DAY);
        PrivateFiles.replace(file(name + ".pem"), chain(next));
        latest.put(name, next);
        return next;
    }

    /** The configuration of a program that uses a certificate. */
    public Map<String, String> settings(String name) {
        Map<String, String> settings = new HashMap<>();
        settings.put("tls.certificate", file(name + ".pem").toString());
        settings.put("tls.key", file(name + ".key").toString());
        settings.put("tls.ca", file("ca.pem").toString());
        settings.put("tls.reload", "100ms");
        return settings;
    }

    /** For requests of a test that shows a certificate. */
    public Tls tls(String name) {
        return Tls.read(
                new TlsFiles(file("ca.pem"), Optional.of(new TlsFiles.Own(file(name + ".pem"), file(name + ".key")))));
    }

    /** For requests of a test that shows no certificate. */
    public Tls anonymous() {
        return Tls.read(new TlsFiles(file("ca.pem"), Optional.empty()));
    }

    /** What the programs that a configuration is for show and trust; empty if it has no certificates. */
    static Optional<Tls> ofSettings(Map<String, String> settings) {
        return Optional.ofNullable(settings.get("tls.certificate"))
                .map(certificate -> Tls.read(new TlsFiles(
                        Path.of(String.valueOf(settings.get("tls.ca"))),
                        Optional.of(new TlsFiles.Own(
                                Path.of(certificate), Path.of(String.valueOf(settings.get("tls.key"))))))));
    }

    /**
     * A context that shows a certificate although the server trusts none of its CAs, or it is over: other clients than
     * the JDK's do that.
     *
     * @param others where the certificate is from
     */
    public SSLContext insisting(Certificates others, String name) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, new char[0]);
        store.setCertificateEntry("ca", authority.certificate());
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(store);
        String text = Files.readString(others.file(name + ".pem"));
        PrivateKey key = Pem.privateKey(Files.readString(others.file(name + ".key")), name);
        SSLContext context = SSLContext.getInstance("TLSv1.3");
        context.init(
                new KeyManager[] {new Insisting(Pem.certificates(text, name), key)}, trust.getTrustManagers(), null);
        return context;
    }

    private static final class Insisting extends X509ExtendedKeyManager {
        private final X509Certificate[] chain;
        private final PrivateKey key;

        Insisting(List<? extends Certificate> chain, PrivateKey key) {
            this.chain = chain.toArray(X509Certificate[]::new);
            this.key = key;
        }

        @Override
        public String chooseEngineClientAlias(String[] keyType, Principal[] issuers, SSLEngine engine) {
            return "own";
        }

        @Override
        public String chooseClientAlias(String[] keyType, Principal[] issuers, Socket socket) {
            return "own";
        }

        @Override
        public String[] getClientAliases(String keyType, Principal[] issuers) {
            return new String[] {"own"};
        }

        @Override
        public String[] getServerAliases(String keyType, Principal[] issuers) {
            return new String[0];
        }

        @Override
        public String chooseServerAlias(String keyType, Principal[] issuers, Socket socket) {
            return "own";
        }

        @Override
        public X509Certificate[] getCertificateChain(String alias) {
            return chain.clone();
        }

        @Override
        public PrivateKey getPrivateKey(String alias) {
            return key;
        }
    }
}
