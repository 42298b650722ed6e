package io.farpage.tls;

import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.config.Key;
import io.farpage.config.ValueTypes;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The configuration keys that every farpage service has for TLS, and what they mean together. */
public final class TlsKeys {

    /** The service's certificate. */
    public static final Key<Optional<Path>> CERTIFICATE = Key.optional(
            "tls.certificate",
            ValueTypes.path(),
            "PEM file with the certificate of this program, and those between it and the CA. With `tls.key` and"
                    + " `tls.ca` it turns on TLS and authentication. Changed files are used without a restart.");

    /** Its key. */
    public static final Key<Optional<Path>> KEY = Key.optional(
            "tls.key",
            ValueTypes.path(),
            "PEM file with the private key of `tls.certificate`, PKCS #8, not encrypted.");

    /** The CAs. */
    public static final Key<Optional<Path>> CA = Key.optional(
            "tls.ca", ValueTypes.path(), "PEM file with the certificates of the CAs that are trusted, on both sides.");

    /** How often the files are read. */
    public static final Key<Duration> RELOAD =
            Key.duration("tls.reload", "3s", "100ms", "1h", "How often the certificate files are checked for changes.");

    /** Whether to serve without authentication. */
    public static final Key<Boolean> INSECURE = Key.bool(
            "insecure",
            false,
            "`true`: serve other addresses than loopback without TLS and authentication. All clients that reach the"
                    + " port may do everything.");

    private TlsKeys() {}

    /**
     * The files, if TLS is configured.
     *
     * @throws ConfigException if only some of the three are
     */
    public static Optional<TlsFiles> files(Config config) {
        List<Key<Optional<Path>>> all = List.of(CERTIFICATE, KEY, CA);
        List<String> missing = all.stream()
                .filter(key -> config.get(key).isEmpty())
                .map(Key::name)
                .toList();
        if (missing.size() == all.size()) {
            return Optional.empty();
        }
        if (!missing.isEmpty()) {
            throw new ConfigException(List.of("%s is not set: TLS takes tls.certificate, tls.key and tls.ca together"
                    .formatted(String.join(" and ", missing))));
        }
        return Optional.of(new TlsFiles(
                config.get(CA).orElseThrow(),
                Optional.of(new TlsFiles.Own(
                        config.get(CERTIFICATE).orElseThrow(), config.get(KEY).orElseThrow()))));
    }

    /**
     * Opens the configured certificates.
     *
     * @throws ConfigException if they are configured in part, or cannot be used
     */
    public static Optional<Tls> open(Config config) {
        return files(config).map(files -> {
            try {
                return Tls.open(files, config.get(RELOAD));
            } catch (TlsException e) {
                throw new ConfigException(List.of("TLS: " + e.getMessage()));
            }
        });
    }
}
