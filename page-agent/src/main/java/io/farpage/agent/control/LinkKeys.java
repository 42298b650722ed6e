package io.farpage.agent.control;

import io.farpage.access.Identity;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.LinkKey;
import io.farpage.coordinator.model.Node;
import io.farpage.tls.Statement;
import io.farpage.tls.Tls;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.VerbsException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.security.spec.X509EncodedKeySpec;
import java.util.Optional;
import javax.crypto.KDF;
import javax.crypto.KeyAgreement;
import javax.crypto.SecretKey;
import javax.crypto.spec.HKDFParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * This agent's key pair for links. Each agent registers its public key; two agents derive the secret of their link from
 * the one's private and the other's public key (X25519, RFC 7748, and HKDF-SHA256, RFC 5869), so the coordinator, which
 * hands the public keys on, does not learn the secret. With certificates, each agent signs its public key with its
 * node's certificate, and takes no key that its peer has not signed, so that a coordinator that is forged, or runs on
 * an old copy of its store, cannot put itself between two agents. The pair lives as long as the agent's incarnation.
 * Thread-safe.
 */
public final class LinkKeys {
    private static final String CURVE = "X25519";

    private final String node;
    private final Incarnation incarnation;
    private final KeyPair pair;
    private final Optional<Tls> tls;

    private LinkKeys(String node, Incarnation incarnation, KeyPair pair, Optional<Tls> tls) {
        this.node = node;
        this.incarnation = incarnation;
        this.pair = pair;
        this.tls = tls;
    }

    /**
     * Draws a key pair.
     *
     * @param tls with the node's certificate, which signs the public key; empty in a cluster without certificates
     */
    public static LinkKeys generate(String node, Incarnation incarnation, Optional<Tls> tls) {
        try {
            return new LinkKeys(
                    node, incarnation, KeyPairGenerator.getInstance(CURVE).generateKeyPair(), tls);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("X25519 is missing from this JDK's providers", e);
        }
    }

    /** What to register: signed with the certificate of this moment. */
    public LinkKey published() {
        LinkKey unsigned = new LinkKey(pair.getPublic().getEncoded());
        return tls.map(own -> Statement.sign(own, statement(node, incarnation, unsigned)))
                .map(signed -> new LinkKey(
                        unsigned.x25519(), Optional.of(signed.certificates()), Optional.of(signed.signature())))
                .orElse(unsigned);
    }

    /** What a node says of its key. */
    private static byte[] statement(String node, Incarnation incarnation, LinkKey key) {
        return "farpage link key 1 %s/%s %s"
                .formatted(node, incarnation, key.x25519())
                .getBytes(StandardCharsets.US_ASCII);
    }

    /** In a cluster with certificates, takes a key only from the node itself. */
    private void requireSigned(Node peer, LinkKey key, Tls own) {
        Optional<String> reason = key.certificate().isEmpty() || key.signature().isEmpty()
                ? Optional.of("it is not signed")
                : new Statement(key.certificate().get(), key.signature().get())
                        .refuse(own, new Identity.Node(peer.id()), statement(peer.id(), peer.incarnation(), key));
        reason.ifPresent(text -> {
            throw new VerbsException(
                    ("link to %s: its link key is not that of node '%s': %s; the coordinator was handed another key, or"
                                    + " the node's certificate is not valid")
                            .formatted(peer.id(), peer.id(), text));
        });
    }

    /**
     * The secret of the link with a peer. The same as the peer derives, and another for any other pair of incarnations.
     *
     * @throws VerbsException if the peer has registered no key, one that is none, or one that its node has not signed
     */
    public LinkSecret with(Node peer) {
        return new LinkSecret(derive(peer, "farpage link 1 "));
    }

    /**
     * The key that seals what this agent and a peer tell each other through the coordinator: AES of 256 bits, derived
     * as the secret of the link and independent of it.
     *
     * @throws VerbsException as {@link #with}
     */
    public SecretKey sealing(Node peer) {
        return new SecretKeySpec(derive(peer, "farpage grant 1 "), "AES");
    }

    private byte[] derive(Node peer, String label) {
        LinkKey key = peer.linkKey()
                .orElseThrow(() -> new VerbsException("link to " + peer.id()
                        + ": it registered no link key, so it cannot prove who it is; its agent is"
                        + " older than this one: update it"));
        tls.ifPresent(own -> requireSigned(peer, key, own));
        try {
            KeyAgreement agreement = KeyAgreement.getInstance(CURVE);
            agreement.init(pair.getPrivate());
            agreement.doPhase(decode(key), true);
            return KDF.getInstance("HKDF-SHA256")
                    .deriveData(HKDFParameterSpec.ofExtract()
                            .addIKM(agreement.generateSecret())
                            .thenExpand(context(peer, label), LinkSecret.SIZE));
        } catch (GeneralSecurityException e) {
            throw new VerbsException(
                    ("link to %s: its link key is not an X25519 public key: %s; its agent is faulty, or what it"
                                    + " registered was altered")
                            .formatted(peer.id(), e.getMessage()));
        }
    }

    private static PublicKey decode(LinkKey key) throws GeneralSecurityException {
        return KeyFactory.getInstance(CURVE).generatePublic(new X509EncodedKeySpec(key.encoded()));
    }

    /** What the key is for, and both ends, in the same order on both. */
    private byte[] context(Node peer, String label) {
        String mine = node + "/" + incarnation;
        String theirs = peer.id() + "/" + peer.incarnation();
        boolean first = mine.compareTo(theirs) < 0;
        String context = label + (first ? mine + " " + theirs : theirs + " " + mine);
        return context.getBytes(StandardCharsets.US_ASCII);
    }
}
