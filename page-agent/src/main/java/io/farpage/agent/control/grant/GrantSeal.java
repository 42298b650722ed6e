package io.farpage.agent.control.grant;

import io.farpage.agent.control.LinkKeys;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.rest.Json;
import io.farpage.verbs.VerbsException;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import tools.jackson.core.JacksonException;

/**
 * Seals grants on their way from a home to an attached node: AES-256-GCM with a key that only these two agents derive
 * ({@link LinkKeys#sealing}), a random nonce for each, and {@link GrantParties} as associated data. The coordinator,
 * which hands grants on, cannot read or alter one, or pass off one for another space, node, incarnation or attachment.
 * It can hand out an earlier grant of the same parties, whose keys are revoked. Thread-safe.
 */
public final class GrantSeal {
    private static final String CIPHER = "AES/GCM/NoPadding";
    private static final int NONCE_SIZE = 12;
    private static final int TAG_BITS = 128;

    private final LinkKeys keys;
    private final SecureRandom random = new SecureRandom();

    /** @param keys of this agent's links */
    public GrantSeal(LinkKeys keys) {
        this.keys = keys;
    }

    /**
     * Seals a grant, as its home.
     *
     * @param version as in {@link GrantRequest}
     * @param grantee the attached node, as the coordinator describes it
     * @throws GrantException if the grantee is another incarnation, or its link key cannot be used
     */
    public GrantRequest seal(GrantParties parties, GrantContent content, long version, Node grantee)
            throws GrantException {
        requireIncarnation(parties, parties.incarnation(), grantee);
        byte[] nonce = new byte[NONCE_SIZE];
        random.nextBytes(nonce);
        try {
            byte[] sealed = cipher(Cipher.ENCRYPT_MODE, parties, nonce, grantee)
                    .doFinal(Json.STRICT.writeValueAsBytes(content));
            byte[] whole = Arrays.copyOf(nonce, NONCE_SIZE + sealed.length);
            System.arraycopy(sealed, 0, whole, NONCE_SIZE, sealed.length);
            return new GrantRequest(
                    parties.homeIncarnation(),
                    parties.incarnation(),
                    parties.attachment(),
                    version,
                    Base64.getEncoder().encodeToString(whole));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("AES-GCM does not work on this JDK", e);
        } catch (IllegalArgumentException e) {
            throw new GrantException("%s: it is too long: %s; the space lies in too many ranges of the pool"
                    .formatted(parties, e.getMessage()));
        }
    }

    /**
     * Opens a grant, as the attached node.
     *
     * @param expected what was asked for
     * @param home the home, as the coordinator describes it
     * @throws GrantException naming what is wrong with the grant
     */
    public GrantContent open(Grant grant, GrantParties expected, Node home) throws GrantException {
        var differences = expected.differences(GrantParties.of(grant));
        if (!differences.isEmpty()) {
            throw new GrantException(
                    "%s: the coordinator handed out one of %s".formatted(expected, String.join(", of ", differences)));
        }
        requireIncarnation(expected, expected.homeIncarnation(), home);
        try {
            byte[] whole = Base64.getDecoder().decode(grant.sealed());
            if (whole.length < NONCE_SIZE) {
                throw new GrantException("%s: %d bytes are not a sealed grant".formatted(expected, whole.length));
            }
            byte[] nonce = Arrays.copyOf(whole, NONCE_SIZE);
            byte[] opened = cipher(Cipher.DECRYPT_MODE, expected, nonce, home)
                    .doFinal(whole, NONCE_SIZE, whole.length - NONCE_SIZE);
            return Json.LENIENT.readValue(opened, GrantContent.class);
        } catch (AEADBadTagException e) {
            throw new GrantException(
                    ("%s: it does not open with the key that this agent shares with incarnation %s of '%s': it"
                                    + " was altered, or sealed for another space, node, incarnation or attachment")
                            .formatted(expected, expected.homeIncarnation(), expected.home()));
        } catch (GeneralSecurityException | IllegalArgumentException | JacksonException e) {
            throw new GrantException("%s: it is not a sealed grant: %s".formatted(expected, e.getMessage()));
        }
    }

    private static void requireIncarnation(GrantParties parties, Incarnation expected, Node node)
            throws GrantException {
        if (!node.incarnation().equals(expected)) {
            throw new GrantException("%s: '%s' runs as incarnation %s by now, not %s"
                    .formatted(parties, node.id(), node.incarnation(), expected));
        }
    }

    private Cipher cipher(int mode, GrantParties parties, byte[] nonce, Node peer)
            throws GrantException, GeneralSecurityException {
        try {
            Cipher cipher = Cipher.getInstance(CIPHER);
            cipher.init(mode, keys.sealing(peer), new GCMParameterSpec(TAG_BITS, nonce));
            cipher.updateAAD(parties.encoded());
            return cipher;
        } catch (VerbsException e) {
            throw new GrantException("%s: %s".formatted(parties, e.getMessage()));
        }
    }
}
