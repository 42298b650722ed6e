package io.farpage.certs;

import java.security.PublicKey;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.EdECPublicKey;
import java.security.interfaces.RSAPublicKey;

/** Which keys are certified: EC of 256 bits or more, RSA of 2048 or more, Ed25519 and Ed448. */
final class KeyStrength {

    private static final int EC_BITS = 256;
    private static final int RSA_BITS = 2048;

    private KeyStrength() {}

    static PublicKey require(PublicKey key) {
        boolean strong = switch (key) {
            case ECPublicKey ec -> ec.getParams().getCurve().getField().getFieldSize() >= EC_BITS;
            case RSAPublicKey rsa -> rsa.getModulus().bitLength() >= RSA_BITS;
            case EdECPublicKey _ -> true;
            default -> false;
        };
        if (!strong) {
            throw new IllegalArgumentException(
                    "a key of algorithm %s is too weak or unknown; use EC P-256".formatted(key.getAlgorithm()));
        }
        return key;
    }
}
