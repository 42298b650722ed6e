package io.farpage.coordinator.access;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.access.CertificateIdentity;
import io.farpage.access.TokenRefusedException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Join tokens: each lets one node get one certificate, within minutes. They are stored as hashes. Used ones are kept
 * for a day, so that a second use is told from a token that never was. Thread-safe.
 */
public final class JoinTokens {

    private static final String PREFIX = "farpage_join_";
    private static final Duration KEPT = Duration.ofDays(1);

    private final SharedRecords<JoinToken> stored;

    /**
     * A join token as it is stored.
     *
     * @param node id that the certificate will have
     * @param hash SHA-256 of the token
     * @param addresses that the node may ask for, beside the one that it asks from
     * @param expires when it ends
     * @param used when it was used, if it was
     */
    public record JoinToken(
            @JsonProperty(required = true) String node,
            @JsonProperty(required = true) String hash,
            @JsonProperty(required = true) List<String> addresses,
            @JsonProperty(required = true) Instant expires,
            Optional<Instant> used) {

        /** Copies the addresses. */
        public JoinToken {
            addresses = List.copyOf(addresses);
        }

        private JoinToken usedAt(Instant when) {
            return new JoinToken(node, hash, addresses, expires, Optional.of(when));
        }
    }

    /** The join tokens that are stored at a place. */
    public JoinTokens(AccessRecords records) {
        stored = records.records("join-tokens", JoinToken[].class);
    }

    /**
     * Makes a join token. Unused earlier tokens of the node become invalid.
     *
     * @return the token, which is stored nowhere
     * @throws IllegalArgumentException if the node id is not valid
     */
    public String create(String node, List<String> addresses, Duration lifetime) {
        CertificateIdentity.ofNode(node);
        String token = Secrets.make(PREFIX);
        Instant now = Instant.now();
        return stored.change(known -> {
            List<JoinToken> all = new ArrayList<>(known);
            all.removeIf(one -> one.expires().plus(KEPT).isBefore(now));
            all.removeIf(one -> one.node().equals(node) && one.used().isEmpty());
            all.add(new JoinToken(node, Secrets.hash(token), addresses, now.plus(lifetime), Optional.empty()));
            return new SharedRecords.Change<>(all, token);
        });
    }

    /**
     * Uses a token: it does not count again, also if what follows fails.
     *
     * @throws TokenRefusedException if it is unknown, for another node, expired or was used
     */
    public JoinToken use(String token, String node) throws TokenRefusedException {
        String hash = Secrets.hash(token);
        if (stored.read().stream().noneMatch(one -> one.hash().equals(hash))) {
            throw new TokenRefusedException("the join token is unknown; 'coordinator join-token create' makes one");
        }
        Attempt attempt = stored.change(known -> {
            Instant now = Instant.now();
            Optional<JoinToken> found =
                    known.stream().filter(one -> one.hash().equals(hash)).findFirst();
            Optional<String> reason = found.map(one -> refusal(one, node, now)).orElse(Optional.of("it was replaced"));
            if (reason.isPresent()) {
                return new SharedRecords.Change<>(known, new Attempt(found, reason));
            }
            List<JoinToken> all = known.stream()
                    .map(one -> one.hash().equals(hash) ? one.usedAt(now) : one)
                    .toList();
            return new SharedRecords.Change<>(all, new Attempt(found, reason));
        });
        if (attempt.refusal().isPresent()) {
            throw new TokenRefusedException(attempt.refusal().get());
        }
        return attempt.token().orElseThrow();
    }

    private record Attempt(Optional<JoinToken> token, Optional<String> refusal) {}

    private static Optional<String> refusal(JoinToken token, String node, Instant now) {
        if (!token.node().equals(node)) {
            return Optional.of("the join token is for node '%s', not '%s'".formatted(token.node(), node));
        }
        if (token.used().isPresent()) {
            return Optional.of("the join token of node '%s' was used at %s; make another one"
                    .formatted(node, token.used().get()));
        }
        if (!token.expires().isAfter(now)) {
            return Optional.of(
                    "the join token of node '%s' expired at %s; make another one".formatted(node, token.expires()));
        }
        return Optional.empty();
    }
}
