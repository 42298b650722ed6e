package io.farpage.tls;

import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a program that calls a service over TLS. Each has a variable of the environment. */
public final class ClientOptions {

    @Option(
            names = "--ca",
            paramLabel = "FILE",
            description = "PEM file of the CA that is trusted, for https; or FARPAGE_TLS_CA.")
    private @Nullable Path ca;

    @Option(
            names = "--certificate",
            paramLabel = "FILE",
            description = "PEM file of the certificate to show; or FARPAGE_TLS_CERTIFICATE.")
    private @Nullable Path certificate;

    @Option(
            names = "--key",
            paramLabel = "FILE",
            description = "PEM file of the certificate's private key; or FARPAGE_TLS_KEY.")
    private @Nullable Path key;

    @Option(
            names = "--token-file",
            paramLabel = "FILE",
            description = "File with the token to show, instead of a certificate; or FARPAGE_TOKEN_FILE.")
    private @Nullable Path tokenFile;

    /** Options without values. */
    public ClientOptions() {}

    /**
     * What they give.
     *
     * @throws TlsException if they do not fit together or files cannot be used
     */
    public Credentials credentials() {
        Optional<Path> trusted = value(ca, "FARPAGE_TLS_CA");
        Optional<Path> shown = value(certificate, "FARPAGE_TLS_CERTIFICATE");
        Optional<Path> secret = value(key, "FARPAGE_TLS_KEY");
        Optional<Path> token = value(tokenFile, "FARPAGE_TOKEN_FILE");
        if (shown.isPresent() != secret.isPresent()) {
            throw new TlsException("--certificate and --key go together");
        }
        if (trusted.isEmpty()) {
            if (shown.isPresent()) {
                throw new TlsException("--certificate needs --ca, the CA of the service");
            }
            return Credentials.of(Optional.empty(), token);
        }
        Optional<TlsFiles.Own> own = shown.map(file -> new TlsFiles.Own(file, secret.orElseThrow()));
        return Credentials.of(Optional.of(Tls.read(new TlsFiles(trusted.get(), own))), token);
    }

    private static Optional<Path> value(@Nullable Path option, String variable) {
        return Optional.ofNullable(option)
                .or(() -> Optional.ofNullable(System.getenv(variable))
                        .filter(text -> !text.isBlank())
                        .map(Path::of));
    }
}
