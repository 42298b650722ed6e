package io.farpage.agent.control;

import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.LinkKey;
import io.farpage.coordinator.model.Node;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.VerbsException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.security.spec.X509EncodedKeySpec;
import javax.crypto.KDF;
import javax.crypto.KeyAgreement;
import javax.crypto.spec.HKDFParameterSpec;

/**
 * This agent's key pair for links. Each agent registers its public key; two agents derive the secret of their link from the one's private and the
 * other's public key (X25519, RFC 7748, and HKDF-SHA256, RFC 5869), so the coordinator, which hands the public keys on, does not learn the secret.
 * The pair lives as long as the agent's incarnation. Thread-safe.
 */
public final class LinkKeys {
    private static final String CURVE = "X25519";

    private final String node;
    private final Incarnation incarnation;
    private final KeyPair pair;

    private LinkKeys(String node, Incarnation incarnation, KeyPair pair) {
        this.node = node;
        this.incarnation = incarnation;
        this.pair = pair;
    }

    /** Draws a key pair. */
    public static LinkKeys generate(String node, Incarnation incarnation) {
        try {
            return new LinkKeys(
                    node, incarnation, KeyPairGenerator.getInstance(CURVE).generateKeyPair());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("X25519 is missing from this JDK's providers", e);
        }
    }

    /** What to register. */
    public LinkKey published() {
        return new LinkKey(pair.getPublic().getEncoded());
    }

    /**
     * The secret of the link with a peer. The same as the peer derives, and another for any other pair of incarnations.
     *
     * @throws VerbsException if the peer has registered no key, or one that is none
     */
    public LinkSecret with(Node peer) {
        LinkKey key = peer.linkKey()
                .orElseThrow(
                        () -> new VerbsException(
                                "link to " + peer.id()
                                        + ": it registered no link key, so it cannot prove who it is; its agent is older than this one: update it"));
        try {
            KeyAgreement agreement = KeyAgreement.getInstance(CURVE);
            agreement.init(pair.getPrivate());
            agreement.doPhase(decode(key), true);
            return new LinkSecret(KDF.getInstance("HKDF-SHA256")
                    .deriveData(HKDFParameterSpec.ofExtract()
                            .addIKM(agreement.generateSecret())
                            .thenExpand(context(peer), LinkSecret.SIZE)));
        } catch (GeneralSecurityException e) {
            throw new VerbsException(
                    "link to %s: its link key is not an X25519 public key: %s; its agent is faulty, or what it registered was altered"
                            .formatted(peer.id(), e.getMessage()));
        }
    }

    private static PublicKey decode(LinkKey key) throws GeneralSecurityException {
        return KeyFactory.getInstance(CURVE).generatePublic(new X509EncodedKeySpec(key.encoded()));
    }

    /** Both ends, in the same order on both. */
    private byte[] context(Node peer) {
        String mine = node + "/" + incarnation;
        String theirs = peer.id() + "/" + peer.incarnation();
        boolean first = mine.compareTo(theirs) < 0;
        String context = "farpage link 1 " + (first ? mine + " " + theirs : theirs + " " + mine);
        return context.getBytes(StandardCharsets.US_ASCII);
    }
}
