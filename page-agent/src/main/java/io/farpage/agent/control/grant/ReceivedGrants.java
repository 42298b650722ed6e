package io.farpage.agent.control.grant;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.link.LinkControl;
import io.farpage.agent.control.pull.Pulls;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What homes have granted to this node: fetched from the coordinator for each attached space or pulled extent and each
 * home of it, opened, and handed to the links. A grant that a home refuses is not used any more until the home has
 * published another.
 */
public final class ReceivedGrants implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ReceivedGrants.class);
    private static final Duration REFRESH = Duration.ofSeconds(30);
    /** While a grant is missing. Its publication is an event, so this matters only if that is lost. */
    private static final Duration RETRY = Duration.ofSeconds(1);

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
    /** A home that has granted nothing for so long is named in the log. */
    private static final long PATIENCE_NANOS = Duration.ofSeconds(5).toNanos();

    /** How much later the home is named again. */
    private static final long REMINDER_NANOS = Duration.ofMinutes(1).toNanos();

    private final LocalNode self;
    private final Spaces spaces;
    private final Pulls pulls;
    private final LinkControl links;
    private final GrantSeal seal;
    private final ControlThread thread;
    private final Queue<Change> changes = new ConcurrentLinkedQueue<>();

    /** By what they are about, the oldest first. */
    private final Map<GrantParties, ReceivedGrant> received = new LinkedHashMap<>();

    private final Set<GrantParties> stale = new HashSet<>();
    private final Map<GrantParties, Long> missingSince = new HashMap<>();
    private final Map<GrantParties, String> rejected = new HashMap<>();

    /** What other threads tell this one. */
    private sealed interface Change {
        /** A home has published a grant of a space. */
        record Published(String home, long space) implements Change {}

        /** Any grant may have changed. */
        record All() implements Change {}

        /** A home has refused a key. */
        record Refused(ShardNotice.GrantRefused notice) implements Change {}
    }

    /**
     * @param spaces that this agent is attached to
     * @param pulls of this agent
     * @param links which use the grants
     */
    public ReceivedGrants(LocalNode self, Spaces spaces, Pulls pulls, LinkControl links) {
        this.self = self;
        this.spaces = spaces;
        this.pulls = pulls;
        this.links = links;
        this.seal = new GrantSeal(self.keys());
        thread = new ControlThread("grants", new ControlThread.Pauses(Duration.ZERO, RETRY, CLOSE_TIMEOUT), this::step);
    }

    /** Starts to follow the attached spaces. */
    public void start() {
        spaces.onChange(thread::wake);
        pulls.onChange(thread::wake);
        // A home that was started again has the same pool, and grants anew.
        links.onAppeared(thread::wake);
        links.onGrantRefused(refused -> tell(new Change.Refused(refused)));
        thread.start();
    }

    /** {@code home} has published a grant of a space for this node. Any thread. */
    public void published(String home, long space) {
        tell(new Change.Published(home, space));
    }

    /** Events were missed: all grants have to be read again. Any thread. */
    public void resync() {
        tell(new Change.All());
    }

    private void tell(Change change) {
        changes.add(change);
        thread.wake();
    }

    private Duration step() throws CoordinatorException {
        Set<GrantParties> wanted = wanted();
        Set<String> changedHomes = new HashSet<>();
        for (GrantParties gone : Set.copyOf(received.keySet())) {
            if (!wanted.contains(gone)) {
                received.remove(gone);
                changedHomes.add(gone.home());
            }
        }
        missingSince.keySet().retainAll(wanted);
        rejected.keySet().retainAll(wanted);
        stale.retainAll(wanted);
        for (Change change = changes.poll(); change != null; change = changes.poll()) {
            note(change, wanted, changedHomes);
        }
        boolean complete = true;
        try {
            for (GrantParties parties : wanted) {
                complete &= update(parties, changedHomes);
            }
        } finally {
            changedHomes.forEach(this::install);
        }
        return complete ? REFRESH : RETRY;
    }

    /**
     * One for each home of each attached space, and of each extent that is pulled. A node reaches its own pool without
     * a key.
     */
    private Set<GrantParties> wanted() {
        Set<GrantParties> wanted = new HashSet<>();
        for (SpaceExtents space : spaces.held().spaces()) {
            for (Extent extent : space.extents()) {
                for (ExtentHome home : extent.targets().toList()) {
                    if (extent.state() == ExtentState.OK && !home.node().equals(self.id())) {
                        wanted.add(parties(space.space().id(), home, Optional.empty()));
                    }
                }
            }
        }
        for (Pulls.Wanted pull : pulls.wanted()) {
            pull.homes().forEach(home -> wanted.add(parties(pull.space(), home, Optional.of(pull.extent()))));
        }
        return wanted;
    }

    private GrantParties parties(long space, ExtentHome home, Optional<ExtentEpoch> pull) {
        return new GrantParties(
                space, home.node(), links.owner(home.node(), home.incarnation()), self.id(), self.incarnation(), pull);
    }

    private void note(Change change, Set<GrantParties> wanted, Set<String> changedHomes) {
        switch (change) {
            case Change.All() -> stale.addAll(wanted);
            case Change.Published(String home, long space) ->
                wanted.stream()
                        .filter(parties -> parties.home().equals(home) && parties.space() == space)
                        .forEach(stale::add);
            case Change.Refused(ShardNotice.GrantRefused notice) ->
                received.replaceAll((parties, grant) -> {
                    if (!grant.isRefused()
                            && grant.isOf(notice.link().peer(), notice.incarnation())
                            && grant.grants(notice.offset(), notice.rkey())) {
                        log.warn("{}: the home refuses its key; the pages wait for another grant", parties);
                        changedHomes.add(parties.home());
                        return grant.refused();
                    }
                    return grant;
                });
        }
    }

    /** Reads a grant that is missing, refused or may have changed. Returns whether there is one that can be used. */
    private boolean update(GrantParties parties, Set<String> changedHomes) throws CoordinatorException {
        ReceivedGrant known = received.get(parties);
        boolean usable = known != null && !known.isRefused();
        if (usable && !stale.contains(parties)) {
            return true;
        }
        Optional<Grant> answer = fetch(parties);
        stale.remove(parties);
        if (answer.isPresent()
                && (known == null || !known.isSealedAs(answer.get().sealed()))) {
            Optional<ReceivedGrant> opened = open(parties, answer.get());
            if (opened.isPresent()) {
                // Removed first, so that the newest is the last.
                received.remove(parties);
                received.put(parties, opened.get());
                missingSince.remove(parties);
                changedHomes.add(parties.home());
                return true;
            }
        }
        if (!usable) {
            complain(parties);
        }
        return usable;
    }

    private Optional<Grant> fetch(GrantParties parties) throws CoordinatorException {
        try {
            return parties.pull().isPresent()
                    ? self.coordinator()
                            .grant(
                                    parties.home(),
                                    parties.space(),
                                    parties.node(),
                                    parties.pull().get())
                    : self.coordinator().grant(parties.home(), parties.space(), parties.node());
        } catch (CoordinatorRefusedException e) {
            reject(parties, String.valueOf(e.getMessage()));
            return Optional.empty();
        }
    }

    private Optional<ReceivedGrant> open(GrantParties parties, Grant grant) throws CoordinatorException {
        Optional<Node> home = self.coordinator().node(parties.home());
        if (home.isEmpty()) {
            return Optional.empty();
        }
        try {
            ReceivedGrant opened = new ReceivedGrant(parties, grant.sealed(), seal.open(grant, parties, home.get()));
            rejected.remove(parties);
            return Optional.of(opened);
        } catch (GrantException e) {
            reject(parties, String.valueOf(e.getMessage()));
            return Optional.empty();
        }
    }

    private void reject(GrantParties parties, String reason) {
        if (!reason.equals(rejected.put(parties, reason))) {
            log.error("{}", reason);
        }
    }

    private void complain(GrantParties parties) {
        long now = System.nanoTime();
        Long since = missingSince.putIfAbsent(parties, now);
        if (since != null && now - since > PATIENCE_NANOS) {
            log.warn("no {}: pages there wait for it; see the log of '{}'", parties, parties.home());
            missingSince.put(parties, now + REMINDER_NANOS);
        }
    }

    private void install(String home) {
        Collection<ReceivedGrant> ofHome = received.values().stream()
                .filter(grant -> grant.home().equals(home) && !grant.isRefused())
                .toList();
        links.grant(home, ReceivedGrant.join(ofHome));
    }

    @Override
    public void close() {
        thread.closeNow();
    }
}
