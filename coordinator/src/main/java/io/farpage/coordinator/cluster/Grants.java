package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.ProblemException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Hands on what homes grant to the nodes that are attached to their spaces. A grant is sealed for its node, counts as
 * long as the attachment and both incarnations, and is kept in memory only: after a restart of the coordinator the
 * homes publish again. One that arrives after its attachment has ended is refused, also if the node is attached again:
 * its keys are dead. A grant for a pull is of one extent in one epoch, and counts as long as the node
 * {@link Pulls pulls} that. Thread-safe.
 */
public final class Grants {
    private static final int FEWEST_BEFORE_PRUNING = 256;
    private static final int HEAP_SHARE = 16;

    private final Ledger ledger;
    private final Map<Key, Grant> published = new ConcurrentHashMap<>();
    /** Within a change of the ledger only, as {@link #characters}. */
    private int pruneAt = FEWEST_BEFORE_PRUNING;

    private long characters;

    /** @param pull the extent that the node pulls; empty if it is attached */
    private record Key(String home, long space, String node, Optional<ExtentEpoch> pull) {}

    /** Works on a ledger. */
    public Grants(Ledger ledger) {
        this.ledger = ledger;
    }

    /**
     * Publishes a grant for an attached node. It replaces an earlier one. A grant that is published again, or after a
     * later one of the same process of the home, changes nothing and emits no event.
     *
     * @throws ProblemException if the home hosts nothing of the space, or the node is not attached to it
     */
    public Grant publish(String home, long space, String node, GrantRequest said) {
        return publish(new Key(home, space, node, Optional.empty()), said);
    }

    /**
     * As {@link #publish(String, long, String, GrantRequest)}, for a node that pulls an extent.
     *
     * @throws ProblemException if the home is none of the extent, or the node does not pull it in this epoch
     */
    public Grant publish(String home, long space, String node, ExtentEpoch pull, GrantRequest said) {
        return publish(new Key(home, space, node, Optional.of(pull)), said);
    }

    private Grant publish(Key key, GrantRequest said) {
        String home = key.home();
        String node = key.node();
        long space = key.space();
        return ledger.change(draft -> {
            draft.requireNode(home, said.homeIncarnation());
            draft.requireNode(node, said.incarnation());
            Space known = draft.spaces
                    .find(Keys.id(space))
                    .orElseThrow(() -> ProblemException.notFound("there is no space with id %d".formatted(space)));
            if (key.pull().isEmpty()) {
                Coherence.checkKept(
                        known, "its members get no keys to frames; update the agent of node '%s'".formatted(home));
            }
            if (!draft.extents.homes(known).contains(home)) {
                throw ProblemException.conflict(
                        "not-home", "node '%s' has no page of space '%s' (id %d)".formatted(home, known.name(), space));
            }
            Grant grant = new Grant(
                    space,
                    home,
                    said.homeIncarnation(),
                    node,
                    said.incarnation(),
                    said.attachment(),
                    key.pull(),
                    said.version(),
                    said.sealed());
            if (key.pull().isPresent()) {
                requirePull(draft, known, key);
            } else if (!isAttached(draft.attachments.find(Keys.attachment(known.id(), node)), grant)) {
                throw ProblemException.conflict(
                        "not-attached",
                        "incarnation %s of node '%s' is not attached to space '%s' (id %d) by the attachment with id %d"
                                .formatted(said.incarnation(), node, known.name(), space, said.attachment()));
            }
            Grant before = published.get(key);
            if (before != null && isLater(before, grant)) {
                return before;
            }
            if (!grant.equals(before)) {
                put(draft, key, grant);
                draft.emitSoft(EventKind.GRANT_PUBLISHED, Optional.of(home), Optional.of(node), known);
            }
            return grant;
        });
    }

    /** Whether a grant was published after another one, which arrives late. */
    private static boolean isLater(Grant known, Grant late) {
        return known.homeIncarnation().equals(late.homeIncarnation()) && known.version() > late.version();
    }

    private static void requirePull(Draft draft, Space space, Key key) {
        if (!isPulled(draft, space, key)) {
            ExtentEpoch pull = key.pull().orElseThrow();
            throw ProblemException.conflict(
                    "no-pull",
                    "node '%s' does not pull the extent at page %d of space '%s' (id %d) from node '%s' in epoch %d"
                            .formatted(
                                    key.node(), pull.firstPage(), space.name(), space.id(), key.home(), pull.epoch()));
        }
    }

    private static boolean isPulled(Draft draft, Space space, Key key) {
        return Pulls.of(draft, space)
                .filter(pull -> key.pull().equals(Optional.of(pull.extent())))
                .anyMatch(pull -> pull.to().id().equals(key.node()) && Pulls.readsFrom(draft, pull, key.home()));
    }

    private static boolean isAttached(Optional<Attachment> attachment, Grant grant) {
        return attachment
                .filter(a -> a.incarnation().equals(grant.incarnation()) && a.id() == grant.attachment())
                .isPresent();
    }

    private void put(Draft draft, Key key, Grant grant) {
        long most = Runtime.getRuntime().maxMemory() / HEAP_SHARE;
        if (published.size() >= pruneAt || characters + grant.sealed().length() > most) {
            published.entrySet().removeIf(old -> !isCurrent(draft, old.getKey(), old.getValue()));
            characters = published.values().stream()
                    .mapToLong(each -> each.sealed().length())
                    .sum();
            pruneAt = Math.max(FEWEST_BEFORE_PRUNING, 2 * published.size());
        }
        Grant before = published.get(key);
        long after = characters
                + grant.sealed().length()
                - (before == null ? 0 : before.sealed().length());
        if (after > most) {
            throw new ProblemException(
                    507,
                    "limit",
                    "that would make %d characters of grants, and %d are allowed, by the size of the heap (-Xmx)"
                            .formatted(after, most));
        }
        characters = after;
        published.put(key, grant);
    }

    /**
     * Forgets what a node has granted of a space while it was a home before, and has revoked since. Within a change of
     * the ledger, before the node is a home again.
     */
    void forget(String home, long space) {
        published.keySet().removeIf(key -> key.home().equals(home) && key.space() == space);
        characters = published.values().stream()
                .mapToLong(each -> each.sealed().length())
                .sum();
    }

    /** A grant, if it was published and counts. */
    Optional<Grant> find(Draft draft, String home, long space, String node, Optional<ExtentEpoch> pull) {
        Key key = new Key(home, space, node, pull);
        return Optional.ofNullable(published.get(key)).filter(grant -> isCurrent(draft, key, grant));
    }

    private static boolean isCurrent(Draft draft, Key key, Grant grant) {
        return isRegistered(draft, grant.home(), grant.homeIncarnation())
                && isRegistered(draft, grant.node(), grant.incarnation())
                && draft.spaces
                        .find(Keys.id(grant.space()))
                        .filter(space -> key.pull().isPresent()
                                ? isPulled(draft, space, key)
                                : isAttached(draft.attachments.find(Keys.attachment(space.id(), grant.node())), grant))
                        .isPresent();
    }

    private static boolean isRegistered(Draft draft, String node, Incarnation incarnation) {
        return draft.nodes
                .find(node)
                .map(Node::incarnation)
                .filter(incarnation::equals)
                .isPresent();
    }
}
