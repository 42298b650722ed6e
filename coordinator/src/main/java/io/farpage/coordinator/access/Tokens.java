package io.farpage.coordinator.access;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.access.Identity;
import io.farpage.access.Role;
import io.farpage.access.TokenRefusedException;
import io.farpage.access.TokenVerifier;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The tokens of people and programs: random, stored as hashes, each with a name, a role and possibly an end.
 * Thread-safe.
 */
public final class Tokens implements TokenVerifier {

    private static final String PREFIX = "farpage_";

    private final SharedRecords<Token> stored;

    /**
     * A token as it is stored.
     *
     * @param name of the person or program; one token has it
     * @param role what it may do
     * @param hash SHA-256 of the token
     * @param created when it was made
     * @param expires when it ends, if it does
     * @param revoked when it was revoked, if it was
     */
    public record Token(
            @JsonProperty(required = true) String name,
            @JsonProperty(required = true) Role role,
            @JsonProperty(required = true) String hash,
            @JsonProperty(required = true) Instant created,
            Optional<Instant> expires,
            Optional<Instant> revoked) {

        private Token revokedAt(Instant when) {
            return new Token(name, role, hash, created, expires, Optional.of(when));
        }
    }

    /** The tokens that are stored at a place. */
    public Tokens(AccessRecords records) {
        stored = records.records("tokens", Token[].class);
    }

    /**
     * Makes a token.
     *
     * @return the token, which is stored nowhere
     * @throws IllegalArgumentException if the name is used by a token that was not revoked, or is none
     */
    public String create(String name, Role role, Optional<Duration> lifetime) {
        if (!name.matches("[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")) {
            throw new IllegalArgumentException(
                    "'" + name + "' is not a valid token name: 1 to 63 letters, digits and . _ @ -");
        }
        String token = Secrets.make(PREFIX);
        Instant now = Instant.now();
        return stored.change(known -> {
            if (known.stream()
                    .anyMatch(one -> one.name().equals(name) && one.revoked().isEmpty())) {
                throw new IllegalArgumentException(
                        "there is a token '%s'; revoke it first, or choose another name".formatted(name));
            }
            List<Token> all = new ArrayList<>(known);
            all.removeIf(one -> one.name().equals(name));
            all.add(new Token(name, role, Secrets.hash(token), now, lifetime.map(now::plus), Optional.empty()));
            return new SharedRecords.Change<>(all, token);
        });
    }

    /** All of them, revoked ones too. */
    public List<Token> all() {
        return stored.read();
    }

    /**
     * Revokes a token: the next request with it is refused.
     *
     * @return when it was revoked
     * @throws IllegalArgumentException if there is none of that name
     */
    public Instant revoke(String name) {
        return stored.change(known -> {
            if (known.stream().noneMatch(one -> one.name().equals(name))) {
                throw new IllegalArgumentException(
                        "there is no token '" + name + "'; 'coordinator token list' lists them");
            }
            Instant now = Instant.now();
            return new SharedRecords.Change<>(
                    known.stream()
                            .map(one -> one.name().equals(name) && one.revoked().isEmpty() ? one.revokedAt(now) : one)
                            .toList(),
                    now);
        });
    }

    @Override
    public Identity.Principal verify(String token) throws TokenRefusedException {
        String hash = Secrets.hash(token);
        Optional<Token> known =
                stored.read().stream().filter(one -> one.hash().equals(hash)).findFirst();
        if (known.isEmpty()) {
            throw new TokenRefusedException("the token is unknown");
        }
        Token found = known.get();
        if (found.revoked().isPresent()) {
            throw new TokenRefusedException("token '%s' was revoked at %s"
                    .formatted(found.name(), found.revoked().get()));
        }
        if (found.expires().filter(end -> !end.isAfter(Instant.now())).isPresent()) {
            throw new TokenRefusedException("token '%s' expired at %s"
                    .formatted(found.name(), found.expires().get()));
        }
        return new Identity.Principal(found.name(), found.role(), "token");
    }
}
