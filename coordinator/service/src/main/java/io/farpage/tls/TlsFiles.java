package io.farpage.tls;

import java.nio.file.Path;
import java.util.Optional;

/**
 * Where a program's certificates are.
 *
 * @param ca PEM file with the certificates of the CAs that are trusted
 * @param own what the program shows of itself; a client with a token needs none
 */
public record TlsFiles(Path ca, Optional<Own> own) {

    /**
     * A certificate and its key.
     *
     * @param certificate PEM file: the certificate first, then those that lead to the CA
     * @param key PEM file: the private key, PKCS #8
     */
    public record Own(Path certificate, Path key) {}
}
