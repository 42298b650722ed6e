package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Base64;
import java.util.Optional;

/**
 * The public key with which peers derive the secret of their link with a node.
 *
 * @param x25519 an X25519 public key as SubjectPublicKeyInfo (RFC 8410), {@value #SIZE} bytes, in base64
 * @param certificate the node's certificate chain in PEM, its own first; left out by a node without one
 * @param signature by the certificate's key, over the node's id, its incarnation and the public key, in base64
 */
public record LinkKey(
        @JsonProperty(required = true) String x25519, Optional<String> certificate, Optional<String> signature) {
    /** Bytes of an X25519 SubjectPublicKeyInfo. */
    public static final int SIZE = 44;

    private static final int MAX_CERTIFICATE = 32 * 1024;
    private static final int MAX_SIGNATURE = 2048;

    /** Checks the sizes. */
    public LinkKey {
        if (decode("linkKey.x25519", x25519).length != SIZE) {
            throw new IllegalArgumentException(
                    "linkKey.x25519: not %d bytes in base64, as an X25519 public key has".formatted(SIZE));
        }
        certificate.ifPresent(
                text -> Check.range("linkKey.certificate: characters", text.length(), 1, MAX_CERTIFICATE));
        signature.ifPresent(text ->
                Check.range("linkKey.signature: bytes", decode("linkKey.signature", text).length, 1, MAX_SIGNATURE));
        if (certificate.isPresent() != signature.isPresent()) {
            throw new IllegalArgumentException("linkKey: a certificate and a signature come together or not at all");
        }
    }

    /** A key without a certificate. */
    public LinkKey(byte[] encoded) {
        this(Base64.getEncoder().encodeToString(encoded), Optional.empty(), Optional.empty());
    }

    /** The public key, decoded from base64. */
    public byte[] encoded() {
        return decode("linkKey.x25519", x25519);
    }

    private static byte[] decode(String field, String text) {
        try {
            return Base64.getDecoder().decode(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(field + ": not base64", e);
        }
    }
}
