package io.farpage.coordinator.command;

import io.farpage.access.CertificateIdentity;
import io.farpage.access.Identity;
import io.farpage.certs.CertificateAuthority;
import io.farpage.certs.Keys;
import io.farpage.certs.PrivateFiles;
import io.farpage.certs.RenewalTime;
import io.farpage.certs.Subject;
import io.farpage.coordinator.config.Settings;
import io.farpage.tls.Pem;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * A CA and the certificates that it has issued, in one directory: {@code ca.pem}, {@code ca.key}, {@code NAME.pem},
 * {@code NAME.key}.
 */
final class CertificateDirectory {

    private static final Duration COORDINATOR_LIFETIME = Duration.ofDays(365);

    private final Path directory;

    private CertificateDirectory(Path directory) {
        this.directory = directory;
    }

    static CertificateDirectory at(Path directory) {
        return new CertificateDirectory(directory.toAbsolutePath().normalize());
    }

    Path caCertificate() {
        return certificate("ca");
    }

    Path caKey() {
        return key("ca");
    }

    /** The audit of the coordinator whose configuration is in the directory; a file in the directory, if none is. */
    CommandAudit audit() {
        Path yaml = directory.resolve("coordinator.yaml");
        return Files.exists(yaml)
                ? CommandAudit.of(Settings.SCHEMA.load(Optional.of(yaml), Map.of(), Map.of()))
                : CommandAudit.in(directory.resolve("audit.json"));
    }

    Path certificate(String name) {
        return directory.resolve(name + ".pem");
    }

    Path key(String name) {
        return directory.resolve(name + ".key");
    }

    /**
     * Makes the CA and the coordinator's certificate.
     *
     * @throws TlsException if a file exists
     */
    CertificateAuthority init(Subject coordinator, Path... others) {
        PrivateFiles.makeDirectory(directory);
        PrivateFiles.requireAbsent(caCertificate(), caKey(), certificate("coordinator"), key("coordinator"));
        PrivateFiles.requireAbsent(others);
        CertificateAuthority.Made made = CertificateAuthority.make();
        PrivateFiles.create(caKey(), Pem.encode(made.key()));
        PrivateFiles.create(caCertificate(), Pem.encode(made.authority().certificate()));
        write("coordinator", coordinator, COORDINATOR_LIFETIME, made.authority());
        return made.authority();
    }

    /**
     * Issues a certificate with a new key.
     *
     * @throws TlsException if a file of that name exists, or the directory has no CA
     */
    void issue(String name, Subject subject, Duration lifetime) {
        if (name.equals("ca") || name.equals("coordinator")) {
            throw new TlsException("the name '" + name + "' is taken by files of the CA's directory");
        }
        CertificateAuthority authority = CertificateAuthority.read(caCertificate(), caKey());
        PrivateFiles.requireAbsent(certificate(name), key(name));
        write(name, subject, lifetime, authority);
    }

    private void write(String name, Subject subject, Duration lifetime, CertificateAuthority authority) {
        KeyPair pair = Keys.generate();
        X509Certificate issued = authority.issue(pair.getPublic(), subject, lifetime);
        PrivateFiles.create(key(name), Pem.encode(pair.getPrivate()));
        PrivateFiles.create(certificate(name), chain(issued, authority));
    }

    private static String chain(X509Certificate issued, CertificateAuthority authority) {
        return Pem.encode(issued) + Pem.encode(authority.certificate());
    }

    /**
     * Renews certificates for their keys; only the certificate's file changes, in one step. Gives those that were
     * renewed.
     */
    Map<Path, X509Certificate> renew(boolean all) {
        CertificateAuthority authority = CertificateAuthority.read(caCertificate(), caKey());
        Map<Path, X509Certificate> renewed = new TreeMap<>();
        for (Path file : files()) {
            X509Certificate present =
                    Pem.certificates(text(file), file.toString()).getFirst();
            boolean ours = present.getIssuerX500Principal()
                            .equals(authority.certificate().getSubjectX500Principal())
                    && !(CertificateIdentity.of(present) instanceof Identity.Stranger);
            if (ours && (all || RenewalTime.of(present).isBefore(Instant.now()))) {
                X509Certificate issued =
                        authority.issue(present.getPublicKey(), Subject.of(present), RenewalTime.lifetime(present));
                PrivateFiles.replace(file, chain(issued, authority));
                renewed.put(file, issued);
            }
        }
        return renewed;
    }

    private Iterable<Path> files() {
        try (Stream<Path> all = Files.list(directory)) {
            return all.filter(file -> file.toString().endsWith(".pem"))
                    .filter(file -> !file.equals(caCertificate()))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new TlsException("directory %s cannot be read: %s".formatted(directory, e), e);
        }
    }

    private static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new TlsException("%s cannot be read: %s".formatted(file, e), e);
        }
    }
}
