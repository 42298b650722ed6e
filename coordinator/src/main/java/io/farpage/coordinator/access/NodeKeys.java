package io.farpage.coordinator.access;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.access.CertificateCheck;
import io.farpage.access.CertificateIdentity;
import io.farpage.access.Identity;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * The public key of each node, and since when its earlier certificates do not count. A key is known from the node's
 * join or, if it has not joined with a token, from its first registration. Each request with a node's certificate is
 * checked against what was read at most two seconds before. Thread-safe.
 */
public final class NodeKeys implements CertificateCheck {

    /** For how long what was read is used. */
    static final Duration FRESH = Duration.ofSeconds(2);

    private final SharedRecords<NodeKey> stored;
    private final LongSupplier clock;
    private final ReentrantLock reading = new ReentrantLock();
    private volatile Optional<Known> known = Optional.empty();

    /** What was read, and when that began. */
    private record Known(Map<String, NodeKey> keys, long nanos) {}

    /**
     * What is stored of a node.
     *
     * @param node its id
     * @param key SHA-256 of its public key, if it is known
     * @param revoked when its certificates were revoked, if they were
     */
    public record NodeKey(@JsonProperty(required = true) String node, Optional<String> key, Optional<Instant> revoked) {

        private NodeKey with(PublicKey other) {
            return new NodeKey(node, Optional.of(Secrets.hash(other)), revoked);
        }
    }

    /**
     * The keys that are stored at a place.
     *
     * @param clock in nanoseconds, from any origin
     */
    public NodeKeys(AccessRecords records, LongSupplier clock) {
        this.stored = records.records("node-keys", NodeKey[].class);
        this.clock = clock;
    }

    /** A node has shown a key: it is the node's if none is known. */
    public void learn(String node, PublicKey key) {
        if (find(node).flatMap(NodeKey::key).isEmpty()) {
            change(node, now -> now.key().isPresent() ? now : now.with(key));
        }
    }

    /** A node has joined with a key, which replaces the one before. */
    public void replace(String node, PublicKey key) {
        change(node, now -> now.with(key));
    }

    /**
     * Revokes all certificates of a node that are valid by now, and forgets its key.
     *
     * @throws IllegalArgumentException if the node id is none
     */
    public void revoke(String node) {
        CertificateIdentity.ofNode(node);
        change(node, now -> new NodeKey(node, Optional.empty(), Optional.of(Instant.now())));
    }

    /** Whether a key is another one than the node's; false if the node's is not known. */
    public boolean isForeign(String node, PublicKey key) {
        return find(node)
                .flatMap(NodeKey::key)
                .filter(one -> !one.equals(Secrets.hash(key)))
                .isPresent();
    }

    @Override
    public Optional<String> refusal(Identity.Node node, X509Certificate certificate) {
        Optional<NodeKey> row = find(node.id());
        // A certificate of the CA begins before it was issued, so a key that came later counts by itself.
        return row.flatMap(NodeKey::revoked)
                .filter(when -> !certificate.getNotBefore().toInstant().isAfter(when))
                .filter(_ -> row.flatMap(NodeKey::key)
                        .filter(Secrets.hash(certificate.getPublicKey())::equals)
                        .isEmpty())
                .map(when ->
                        ("the certificates of node '%s' were revoked at %s; 'coordinator join-token create %s' lets it"
                                        + " join anew")
                                .formatted(node.id(), when, node.id()));
    }

    private void change(String node, UnaryOperator<NodeKey> change) {
        stored.change(before -> {
            Map<String, NodeKey> byNode = byNode(before);
            NodeKey now = byNode.getOrDefault(node, new NodeKey(node, Optional.empty(), Optional.empty()));
            List<NodeKey> after = new ArrayList<>(before);
            after.removeIf(one -> one.node().equals(node));
            after.add(change.apply(now));
            return new SharedRecords.Change<>(after, node);
        });
        known = Optional.empty();
    }

    private Optional<NodeKey> find(String node) {
        return Optional.ofNullable(keys().get(node));
    }

    /** One thread reads again what is no longer fresh; the others go on with what they have. */
    private Map<String, NodeKey> keys() {
        Optional<Known> last = known;
        long now = clock.getAsLong();
        if (last.isPresent() && (now - last.get().nanos() < FRESH.toNanos() || !reading.tryLock())) {
            return last.get().keys();
        }
        if (last.isEmpty()) {
            reading.lock();
        }
        try {
            Map<String, NodeKey> keys = byNode(stored.read());
            known = Optional.of(new Known(keys, now));
            return keys;
        } finally {
            reading.unlock();
        }
    }

    private static Map<String, NodeKey> byNode(List<NodeKey> keys) {
        return keys.stream().collect(Collectors.toMap(NodeKey::node, one -> one));
    }
}
