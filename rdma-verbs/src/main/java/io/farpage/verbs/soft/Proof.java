package io.farpage.verbs.soft;

import io.farpage.verbs.LinkSecret;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The proofs of one queue pair: HMAC-SHA256 under the link's secret over a label for the side, the hello with the
 * caller's nonce, and the responder's nonce. The labels keep a proof of one side from being returned as the other's,
 * and tell whether the connection is encrypted, so that no party between the two can have it go on in the clear; the
 * nonces keep a proof from being replayed. The caller's and the responder's proofs are made by different threads, so a
 * queue pair has two of these.
 *
 * <p>Built on a control thread: the first use of a MAC loads classes and takes milliseconds, later ones a few
 * microseconds.
 */
final class Proof {
    private static final byte[] RESPONDER = label("responder");
    private static final byte[] INITIATOR = label("initiator");
    private static final byte[] ENCRYPTING_RESPONDER = label("responder encrypted");
    private static final byte[] ENCRYPTING_INITIATOR = label("initiator encrypted");
    private static final byte[] KEY = label("tls");
    private static final SecureRandom RANDOM = new SecureRandom();

    private final Mac mac;
    private final byte[] transcript = new byte[Wire.HELLO_SIZE + 2 * Wire.NONCE_SIZE];

    Proof(LinkSecret secret) {
        try {
            mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.bytes(), "HmacSHA256"));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("HmacSHA256 is missing from this JDK's providers", e);
        }
        ofResponder(false);
    }

    private static byte[] label(String purpose) {
        return ("farpage soft 1 " + purpose).getBytes(StandardCharsets.US_ASCII);
    }

    /** Random bytes that were never used before. Any thread. */
    static byte[] nonce() {
        byte[] nonce = new byte[Wire.NONCE_SIZE];
        RANDOM.nextBytes(nonce);
        return nonce;
    }

    /** Sets what is proven: 32 bytes of hello and the two nonces. */
    void over(MemorySegment hello, byte[] callersNonce, byte[] respondersNonce) {
        MemorySegment.copy(hello, ValueLayout.JAVA_BYTE, 0, transcript, 0, Wire.HELLO_SIZE);
        System.arraycopy(callersNonce, 0, transcript, Wire.HELLO_SIZE, Wire.NONCE_SIZE);
        System.arraycopy(respondersNonce, 0, transcript, Wire.HELLO_SIZE + Wire.NONCE_SIZE, Wire.NONCE_SIZE);
    }

    byte[] ofResponder(boolean encrypts) {
        return of(encrypts ? ENCRYPTING_RESPONDER : RESPONDER);
    }

    byte[] ofInitiator(boolean encrypts) {
        return of(encrypts ? ENCRYPTING_INITIATOR : INITIATOR);
    }

    /** What both sides begin TLS with on this connection. */
    PreSharedKey preSharedKey() {
        return new PreSharedKey(of(KEY));
    }

    private byte[] of(byte[] label) {
        mac.update(label);
        return mac.doFinal(transcript);
    }

    /** Compares in constant time. */
    static boolean matches(byte[] expected, byte[] proof) {
        return MessageDigest.isEqual(expected, proof);
    }
}
