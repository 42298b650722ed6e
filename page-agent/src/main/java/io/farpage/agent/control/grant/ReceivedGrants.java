package io.farpage.agent.control.grant;

import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.grant.PoolRanges.PoolRange;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What homes have granted to this node: opened, and handed to the links. A grant is used as long as this node is
 * attached to its space, or pulls its extent, and the home is the same. The coordinator keeps grants in memory and may
 * have lost one that is still valid. After a home has refused a key, its grant is not used until the home publishes
 * another. A key of a place that the map names no longer is not used again, even if the home gets the same place anew:
 * the home revokes it when the place is released. Thread-safe.
 */
public final class ReceivedGrants implements Spaces.Keys, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ReceivedGrants.class);

    /** The log names a home that has granted nothing for this time. */
    static final Duration PATIENCE = Duration.ofSeconds(5);

    /** How much later the home is named again. */
    private static final Duration REMINDER = Duration.ofMinutes(1);

    private final String node;
    private final Incarnation incarnation;
    private final GrantSeal seal;
    private final Links links;
    private final LongSupplier clock;

    /** By what they are about, the oldest first. */
    private final Map<GrantParties, ReceivedGrant> received = new LinkedHashMap<>();

    private final Map<GrantParties, Long> missingSince = new HashMap<>();
    private final Map<GrantParties, String> rejected = new HashMap<>();
    private boolean closed;

    /** The links, which use the grants. */
    public interface Links {
        /** A link to a peer is needed. */
        void want(String peer);

        /** A peer has granted other ranges of its memory to this node than before. */
        void grant(String peer, PeerGrants grants);
    }

    public ReceivedGrants(LocalNode self, Links links) {
        this(self.id(), self.incarnation(), new GrantSeal(self.keys()), links, System::nanoTime);
    }

    /** @param clock as {@link System#nanoTime} */
    ReceivedGrants(String node, Incarnation incarnation, GrantSeal seal, Links links, LongSupplier clock) {
        this.node = node;
        this.incarnation = incarnation;
        this.seal = seal;
        this.links = links;
        this.clock = clock;
    }

    @Override
    public synchronized boolean follow(Attached document, List<SpaceExtents> spaces) {
        if (closed) {
            return true;
        }
        Map<String, Node> homes = document.homes().stream().collect(Collectors.toMap(Node::id, home -> home));
        Map<Long, Long> attachments = document.spaces().stream()
                .map(Attached.Held::attachment)
                .collect(Collectors.toMap(Attachment::space, Attachment::id));
        Map<GrantParties, List<PoolRange>> wanted = wanted(document, attachments, spaces, homes);
        wanted.keySet().forEach(parties -> links.want(parties.home()));
        spaces.stream()
                .filter(space -> space.space().isCoherent())
                .flatMap(space -> homes.values().stream().filter(home -> isHome(space, home)))
                .forEach(home -> links.want(home.id()));
        // What a space needs no longer is remembered as long as the node is attached to it: it may be listed again.
        Set<String> changedHomes =
                drop(parties -> !wanted.containsKey(parties) && !isOf(parties, attachments, spaces, homes));
        missingSince.keySet().retainAll(wanted.keySet());
        rejected.keySet().retainAll(wanted.keySet());
        for (Grant grant : document.grants()) {
            for (GrantParties parties : wanted.keySet()) {
                if (parties.isFor(grant) && open(parties, grant, homes)) {
                    changedHomes.add(parties.home());
                }
            }
        }
        received.replaceAll((parties, grant) -> {
            ReceivedGrant kept =
                    parties.pull().isPresent() ? grant : grant.within(wanted.getOrDefault(parties, List.of()));
            if (!kept.equals(grant)) {
                changedHomes.add(parties.home());
            }
            return kept;
        });
        changedHomes.forEach(this::install);
        return wanted.keySet().stream()
                        .filter(this::isMissing)
                        .peek(this::complain)
                        .count()
                == 0;
    }

    @Override
    public synchronized void restrict(SpaceExtents space) {
        Set<String> changedHomes = new HashSet<>();
        received.replaceAll((parties, grant) -> {
            if (parties.space() != space.space().id() || parties.pull().isPresent()) {
                return grant;
            }
            ReceivedGrant kept = grant.within(PoolRanges.join(PoolRanges.of(space, parties.home())));
            if (!kept.equals(grant)) {
                changedHomes.add(parties.home());
            }
            return kept;
        });
        changedHomes.forEach(this::install);
    }

    @Override
    public synchronized void forget(long space) {
        drop(parties -> parties.space() == space && parties.pull().isEmpty()).forEach(this::install);
    }

    /** Whether a grant is of an attachment that this node has, by a process of the home that may run. */
    private static boolean isOf(
            GrantParties parties, Map<Long, Long> attachments, List<SpaceExtents> spaces, Map<String, Node> homes) {
        return parties.pull().isEmpty()
                && Objects.equals(attachments.get(parties.space()), parties.attachment())
                && spaces.stream().anyMatch(each -> each.space().id() == parties.space())
                && Optional.ofNullable(homes.get(parties.home()))
                        .map(home -> home.incarnation().equals(parties.homeIncarnation()))
                        .orElse(true);
    }

    /**
     * One for each home of each attached space, and of each extent that is pulled. A node reaches its own pool without
     * a key. A home that has another pool by now has nothing to grant.
     *
     * @return with what the map says that the home has; nothing of a pull
     */
    private Map<GrantParties, List<PoolRange>> wanted(
            Attached document, Map<Long, Long> attachments, List<SpaceExtents> spaces, Map<String, Node> homes) {
        Map<GrantParties, List<PoolRange>> wanted = new LinkedHashMap<>();
        for (SpaceExtents space : spaces) {
            Long attachment = attachments.get(space.space().id());
            if (attachment == null || space.space().isCoherent()) {
                continue; // the coordinator has lost it, or members of the space send messages: no home grants anything
            }
            homes.values().stream()
                    .filter(home -> isHome(space, home))
                    .forEach(home -> wanted.put(
                            parties(space.space().id(), home, attachment, Optional.empty()), places(space, home)));
        }
        for (Attached.Pull pull : document.pulls()) {
            pull.homes().stream()
                    .flatMap(home -> Optional.ofNullable(homes.get(home)).stream())
                    .forEach(home -> wanted.put(parties(pull.space(), home, 0, Optional.of(pull.extent())), List.of()));
        }
        return wanted;
    }

    /** Whether another node has pages of a space in its pool. */
    private boolean isHome(SpaceExtents space, Node home) {
        return !home.id().equals(node) && !places(space, home).isEmpty();
    }

    private static List<PoolRange> places(SpaceExtents space, Node home) {
        return PoolRanges.join(PoolRanges.of(space, home.id(), home.poolId()));
    }

    private GrantParties parties(long space, Node home, long attachment, Optional<ExtentEpoch> pull) {
        return new GrantParties(space, home.id(), home.incarnation(), node, incarnation, attachment, pull);
    }

    /** Uses some grants no longer; those of these homes. */
    private Set<String> drop(Predicate<GrantParties> condition) {
        Set<String> homes = received.keySet().stream()
                .filter(condition)
                .map(GrantParties::home)
                .collect(Collectors.toSet());
        received.keySet().removeIf(condition);
        return homes;
    }

    /** Opens a grant, unless it is known. Returns whether another one is used from now on. */
    private boolean open(GrantParties parties, Grant grant, Map<String, Node> homes) {
        ReceivedGrant known = received.get(parties);
        if (known != null && known.isSealedAs(grant.sealed())) {
            return false;
        }
        try {
            GrantContent content = seal.open(grant, parties, Objects.requireNonNull(homes.get(parties.home())));
            // Removed first, so that the newest is the last.
            received.remove(parties);
            received.put(parties, new ReceivedGrant(parties, grant.sealed(), content, false));
            rejected.remove(parties);
            missingSince.remove(parties);
            return true;
        } catch (GrantException e) {
            String reason = String.valueOf(e.getMessage());
            if (!reason.equals(rejected.put(parties, reason))) {
                log.error("{}", reason);
            }
            return false;
        }
    }

    private boolean isMissing(GrantParties parties) {
        return Optional.ofNullable(received.get(parties))
                .filter(ReceivedGrant::isUsable)
                .isEmpty();
    }

    private void complain(GrantParties parties) {
        long now = clock.getAsLong();
        Long since = missingSince.putIfAbsent(parties, now);
        if (since != null && now - since > PATIENCE.toNanos()) {
            log.warn("no {}: pages there wait for it; see the log of '{}'", parties, parties.home());
            missingSince.put(parties, now + REMINDER.toNanos());
        }
    }

    /** An incarnation of a home has refused the key for the byte at an offset of its exported frames. Any thread. */
    public synchronized void refused(String home, long homeIncarnation, long offset, int rkey) {
        Set<String> changedHomes = new HashSet<>();
        received.replaceAll((parties, grant) -> {
            if (!grant.isRefused() && grant.isOf(home, homeIncarnation) && grant.grants(offset, rkey)) {
                log.warn("{}: the home refuses its key; the pages wait for another grant", parties);
                changedHomes.add(parties.home());
                return grant.refused();
            }
            return grant;
        });
        changedHomes.forEach(this::install);
    }

    private void install(String home) {
        Collection<ReceivedGrant> ofHome = received.values().stream()
                .filter(grant -> grant.home().equals(home) && grant.isUsable())
                .toList();
        links.grant(home, ReceivedGrant.join(ofHome));
    }

    /** Leaves the links as they are from now on. */
    @Override
    public synchronized void close() {
        closed = true;
    }
}
