package io.farpage.tls;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** What a client shows to a service: a certificate, a token, both or nothing. Thread-safe. */
public final class Credentials {

    /** Nothing, for services without authentication. */
    public static final Credentials NONE = new Credentials(Optional.empty(), Optional.empty());

    private final Optional<Tls> tls;
    private final Optional<Path> tokenFile;

    private Credentials(Optional<Tls> tls, Optional<Path> tokenFile) {
        this.tls = tls;
        this.tokenFile = tokenFile;
    }

    /** The program's certificate. */
    public static Credentials of(Optional<Tls> tls) {
        return new Credentials(tls, Optional.empty());
    }

    /** The program's certificate and a token, which is read from its file for each request. */
    public static Credentials of(Optional<Tls> tls, Optional<Path> tokenFile) {
        return new Credentials(tls, tokenFile);
    }

    /** What to connect with; another object once certificates have changed. Empty: the JDK's default. */
    public Optional<SSLContext> context(Peer peer) {
        return tls.map(files -> files.client(peer));
    }

    /**
     * The value of the Authorization header, if there is a token.
     *
     * @throws TlsException if the token's file cannot be read or is empty
     */
    public Optional<String> authorization() {
        return tokenFile.map(file -> {
            try {
                String token = Files.readString(file).strip();
                if (!token.matches("[!-~]+")) {
                    throw new TlsException("token file " + file + " must hold one token and nothing else");
                }
                return "Bearer " + token;
            } catch (IOException e) {
                throw new TlsException("token file %s cannot be read: %s".formatted(file, e.getMessage()), e);
            }
        });
    }
}
