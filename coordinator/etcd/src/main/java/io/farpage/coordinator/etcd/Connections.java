package io.farpage.coordinator.etcd;

import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.farpage.config.Config;
import io.farpage.config.Key;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.store.StoreException;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsException;
import io.farpage.tls.TlsFiles;
import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLException;

/** Connections to the members that a configuration names. */
final class Connections {

    static {
        // jetcd uses Vert.x, which would make a directory vertx-cache-* in java.io.tmpdir for files of the class path
        // that nothing asks it for. A JVM that is
        // killed leaves the directory there.
        System.setProperty("vertx.disableFileCPResolving", "true");
    }

    private Connections() {}

    /**
     * Makes the clients; they connect with their first call.
     *
     * @throws StoreException if the configuration cannot be used
     */
    static Members open(Config config) {
        List<String> endpoints = config.get(Settings.ETCD_ENDPOINTS);
        if (endpoints.isEmpty()) {
            throw new StoreException("store.etcd.endpoints: no member is named; for example http://10.0.0.1:2379");
        }
        Optional<TlsFiles> files = files(config);
        String scheme = files.isPresent() ? "https" : "http";
        for (String endpoint : endpoints) {
            if (!endpoint.matches(scheme + "://[^/\\s]+")) {
                throw new StoreException(
                        "store.etcd.endpoints: '%s' is not valid: it must be %s://host:port, since store.etcd.ca is %s"
                                .formatted(endpoint, scheme, files.isPresent() ? "set" : "not set"));
            }
        }
        Optional<SslContext> tls = files.map(Connections::context);
        Optional<User> user = user(config);
        Duration deadline = config.get(Settings.ETCD_DEADLINE);
        return Members.of(endpoints, endpoint -> {
            ClientBuilder builder = builder(endpoint, deadline);
            // A member's certificate must name the host of its endpoint.
            tls.ifPresent(context ->
                    builder.sslContext(context).authority(URI.create(endpoint).getAuthority()));
            user.ifPresent(who -> builder.user(Etcd.bytes(who.name())).password(Etcd.bytes(who.password())));
            return builder.build();
        });
    }

    /** A user of etcd. */
    private record User(String name, String password) {

        @Override
        public String toString() {
            return name;
        }
    }

    private static Optional<User> user(Config config) {
        Optional<String> name = config.get(Settings.ETCD_USER);
        Optional<Path> file = config.get(Settings.ETCD_PASSWORD_FILE);
        if (name.isPresent() != file.isPresent()) {
            Key<?> missing = name.isPresent() ? Settings.ETCD_PASSWORD_FILE : Settings.ETCD_USER;
            throw new StoreException("%s is not set: store.etcd.user and store.etcd.password_file go together"
                    .formatted(missing.name()));
        }
        return name.flatMap(who -> file.map(path -> new User(who, password(path))));
    }

    private static String password(Path file) {
        try {
            String password = Files.readString(file).strip();
            if (password.isEmpty()) {
                throw new StoreException("store.etcd.password_file: %s is empty".formatted(file));
            }
            return password;
        } catch (IOException e) {
            throw new StoreException("store.etcd.password_file: %s cannot be read: %s".formatted(file, e), e);
        }
    }

    private static Optional<TlsFiles> files(Config config) {
        Optional<Path> certificate = config.get(Settings.ETCD_CERTIFICATE);
        Optional<Path> key = config.get(Settings.ETCD_KEY);
        if (certificate.isPresent() != key.isPresent()) {
            throw missing(certificate.isPresent() ? Settings.ETCD_KEY : Settings.ETCD_CERTIFICATE);
        }
        if (certificate.isPresent() && config.get(Settings.ETCD_CA).isEmpty()) {
            throw missing(Settings.ETCD_CA);
        }
        return config.get(Settings.ETCD_CA)
                .map(ca -> new TlsFiles(
                        ca, certificate.flatMap(shown -> key.map(secret -> new TlsFiles.Own(shown, secret)))));
    }

    private static StoreException missing(Key<?> key) {
        return new StoreException(
                "%s is not set: store.etcd.certificate and store.etcd.key go together, and with store.etcd.ca"
                        .formatted(key.name()));
    }

    private static SslContext context(TlsFiles files) {
        try {
            // Says what is wrong with the files; Netty's messages do not name them.
            Tls.read(files).close();
            SslContextBuilder builder =
                    GrpcSslContexts.forClient().trustManager(files.ca().toFile());
            files.own()
                    .ifPresent(own -> builder.keyManager(
                            own.certificate().toFile(), own.key().toFile()));
            return builder.build();
        } catch (TlsException | SSLException | IllegalArgumentException e) {
            throw new StoreException("TLS to etcd: " + e.getMessage(), e);
        }
    }

    /** What all clients have: a call to a member that is away fails at once, so that the next member is called. */
    static ClientBuilder builder(String endpoint, Duration deadline) {
        return Client.builder()
                .endpoints(endpoint)
                .maxInboundMessageSize(Etcd.MAX_MESSAGE)
                .waitForReady(false)
                .retryMaxAttempts(0)
                .keepaliveTime(Duration.ofSeconds(10))
                .keepaliveTimeout(Duration.ofSeconds(2))
                .connectTimeout(deadline);
    }
}
