package io.farpage.agent.control.grant;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.grant.PoolRanges.PoolRange;
import io.farpage.agent.control.member.PoolAccess;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.HostedPull;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.VerbsException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What this node grants as a home: for each attachment of another node, a region with a key of its own for each range
 * of the pool that belongs to the space; and for each node that pulls an extent from this one, a region that it can
 * only read. The keys are sent to that node alone. Revoking deregisters the regions. Regions are registered and keys
 * published on a thread of its own, since a device pins the pages of a range meanwhile and the coordinator has to
 * answer: revoking does not wait for that. That thread grants what the latest list has, whenever it looks.
 */
public final class HomeGrants implements PoolAccess, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(HomeGrants.class);

    private static final Duration RETRY = Duration.ofMillis(500);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final LocalNode self;
    private final Transports transports;
    private final GrantSeal seal;
    private final Map<GrantParties, GivenGrant> given = new HashMap<>();
    private final LingeringRegions lingering = new LingeringRegions();
    private final Map<GrantParties, String> refusals = new HashMap<>();
    private final ControlThread thread;
    /** The grants that the latest list asks for, with the versions of those that the coordinator has. */
    private Map<GrantParties, Long> wanted = Map.of();

    private Map<Long, SpaceExtents> spaces = Map.of();

    /** Version of the grants that were published last. Belongs to the thread. */
    private long version;

    /** @param transports the devices that the pool is registered with */
    public HomeGrants(LocalNode self, Transports transports) {
        this.self = self;
        this.transports = transports;
        this.seal = new GrantSeal(self.keys());
        thread = new ControlThread(
                "given-grants",
                new ControlThread.Pauses(ControlThread.UNTIL_WOKEN, RETRY, CLOSE_TIMEOUT),
                () -> grantAll() ? ControlThread.UNTIL_WOKEN : RETRY);
    }

    public void start() {
        thread.start();
    }

    @Override
    public synchronized void follow(Hosted hosted) {
        spaces = hosted.spaces().stream()
                .collect(Collectors.toMap(each -> each.space().id(), each -> each));
        wanted = new LinkedHashMap<>();
        hosted.attachments().forEach(each -> wanted.put(parties(each), each.granted()));
        hosted.pulls().forEach(each -> wanted.put(parties(each), each.granted()));
        Predicate<GrantParties> cutOff = parties ->
                hosted.fences().stream().anyMatch(fence -> fence.isOf(parties.node(), parties.incarnation()));
        // A node reaches its own pool without a key.
        wanted.keySet().removeIf(cutOff.or(parties -> parties.node().equals(self.id())));
        revokeIf(grant -> cutOff.test(grant.parties()));
        lingering.revokeOf(cutOff);
        wanted.keySet().removeIf(this::isMember);
        revokeOthers();
        thread.wake();
    }

    /** A member of a coherent space sends messages, and has no keys to its frames. A home that joins it reads them. */
    private boolean isMember(GrantParties parties) {
        return parties.pull().isEmpty()
                && Optional.ofNullable(spaces.get(parties.space()))
                        .filter(each -> each.space().isCoherent())
                        .isPresent();
    }

    private synchronized void revokeOthers() {
        long now = System.nanoTime();
        given.values().stream()
                .filter(grant -> !wanted.containsKey(grant.parties()))
                .filter(grant -> grant.parties().pull().isEmpty())
                .forEach(grant -> grant.leave(_ -> true, leaving(grant.parties())));
        revokeIf(grant -> !wanted.containsKey(grant.parties()) && grant.end(now));
        lingering.revokeEnded(this::isOfSnapshot, this::knowsSnapshot, now);
        refusals.keySet().retainAll(wanted.keySet());
    }

    /** Ranges that are a snapshot's now stay granted until the node can know the keys of the snapshot. */
    private GivenGrant.Leaving leaving(GrantParties parties) {
        return (range, regions) -> {
            if (isOfSnapshot(parties, range)) {
                lingering.add(parties, range, regions, System.nanoTime());
            } else {
                regions.values().forEach(MemoryRegion::close);
            }
        };
    }

    /** Whether a node may read a range by another grant, since that is a snapshot's, to which it is attached. */
    private boolean isOfSnapshot(GrantParties of, PoolRange range) {
        return snapshotsOf(of, range).findFirst().isPresent();
    }

    /** Whether such a grant was published. */
    private boolean knowsSnapshot(GrantParties of, PoolRange range) {
        return snapshotsOf(of, range)
                .flatMap(parties -> Optional.ofNullable(given.get(parties)).stream())
                .anyMatch(GivenGrant::isPublished);
    }

    private Stream<GrantParties> snapshotsOf(GrantParties of, PoolRange range) {
        return wanted.keySet().stream()
                .filter(parties -> parties.pull().isEmpty()
                        && parties.node().equals(of.node())
                        && parties.incarnation().equals(of.incarnation()))
                .filter(parties -> Optional.ofNullable(spaces.get(parties.space())).stream()
                        .filter(space -> space.space().snapshot().isPresent())
                        .flatMap(space -> PoolRanges.places(space, self.id(), self.poolId()).stream())
                        .anyMatch(place -> range.overlaps(place.offset(), place.length())));
    }

    /** Whether a node has access to a byte of a range. */
    synchronized boolean isGranted(long offset, long length) {
        return given.values().stream().anyMatch(grant -> grant.overlaps(offset, length))
                || lingering.overlaps(offset, length);
    }

    @Override
    public synchronized void revoke(long offset, long length) {
        lingering.revoke(offset, length);
        for (Iterator<GivenGrant> all = given.values().iterator(); all.hasNext(); ) {
            GivenGrant grant = all.next();
            if (grant.overlaps(offset, length)) {
                grant.revoke(offset, length);
                log.info("{} is revoked for {} bytes from {} of the pool", grant.parties(), length, offset);
                if (grant.isEmpty()) {
                    all.remove();
                }
            }
        }
        // What else was in the same region is granted again.
        thread.wake();
    }

    /** A grant whose revocation fails stays, so that it is tried again. */
    private void revokeIf(Predicate<GivenGrant> condition) {
        for (Iterator<GivenGrant> all = given.values().iterator(); all.hasNext(); ) {
            GivenGrant grant = all.next();
            if (condition.test(grant)) {
                grant.revoke();
                all.remove();
                log.info("{} is revoked", grant.parties());
            }
        }
    }

    /**
     * Registers and publishes what the latest list asks for and has not.
     *
     * @return false to be called again soon; grants that are refused are tried again with the next list
     */
    boolean grantAll() throws CoordinatorException {
        revokeOthers();
        boolean all = true;
        Map<GrantParties, Long> list = latest();
        for (GrantParties parties : List.copyOf(list.keySet())) {
            all &= thread.isStopping() || grant(parties, list);
        }
        return all && !isAnyEnding();
    }

    private synchronized Map<GrantParties, Long> latest() {
        return wanted;
    }

    /** Whether something that has ended must be revoked soon. */
    private synchronized boolean isAnyEnding() {
        return !lingering.isEmpty() || given.values().stream().anyMatch(GivenGrant::isEnding);
    }

    private boolean grant(GrantParties parties, Map<GrantParties, Long> list) throws CoordinatorException {
        Optional<GrantContent> content = register(parties);
        if (content.isEmpty()) {
            return true;
        }
        try {
            Optional<Node> grantee = self.coordinator().node(parties.node());
            if (grantee.isEmpty()) {
                return false;
            }
            long next = ++version;
            publish(parties, seal.seal(parties, content.get(), next, grantee.get()));
            published(parties, content.get(), next, list);
            return true;
        } catch (CoordinatorRefusedException e) {
            if (e.isUnavailable()) {
                throw e; // the node may have learned these keys
            }
            return refused(parties, e);
        } catch (GrantException e) {
            return refused(parties, e);
        }
    }

    /** No node has learned these keys. The next list tries again, without haste: a node may be at fault for good. */
    private boolean refused(GrantParties parties, Exception reason) {
        refused(parties, String.valueOf(reason.getMessage()));
        return true;
    }

    private void publish(GrantParties parties, GrantRequest sealed) throws CoordinatorException {
        if (parties.pull().isPresent()) {
            self.coordinator()
                    .publishGrant(
                            self.id(),
                            parties.space(),
                            parties.node(),
                            parties.pull().get(),
                            sealed);
        } else {
            self.coordinator().publishGrant(self.id(), parties.space(), parties.node(), sealed);
        }
    }

    /**
     * Registers what is missing. Returns what must be published; empty if nothing has changed, or there is nothing to
     * grant.
     */
    private Optional<GrantContent> register(GrantParties parties) {
        List<OpenDevice> devices = transports.devices();
        Optional<GivenGrant> prepared = prepare(parties, devices);
        prepared.ifPresent(grant -> devices.forEach(device -> register(grant, device)));
        return prepared.flatMap(this::changes);
    }

    private synchronized Optional<GivenGrant> prepare(GrantParties parties, List<OpenDevice> devices) {
        SpaceExtents space = spaces.get(parties.space());
        if (space == null || !wanted.containsKey(parties)) {
            return Optional.empty();
        }
        boolean isForReads =
                parties.pull().isPresent() || space.space().snapshot().isPresent();
        GivenGrant grant = given.computeIfAbsent(parties, of -> new GivenGrant(of, isForReads));
        grant.follow(
                parties.pull()
                        .map(extent -> PoolRanges.of(space, extent, self.id(), self.poolId()))
                        .orElseGet(() -> PoolRanges.of(space, self.id(), self.poolId())),
                PoolRanges.places(space, self.id(), self.poolId()),
                leaving(parties));
        if (grant.isEmpty()) {
            given.remove(parties);
            return Optional.empty();
        }
        grant.retainAll(devices);
        lingering.retainAll(devices);
        return Optional.of(grant);
    }

    /**
     * Registers a grant with one device, range by range and without the lock, since a device pins the pages of a range
     * meanwhile: revoking does not wait for that. A range that is revoked meanwhile is deregistered again. No
     * node knows its key.
     */
    private void register(GivenGrant grant, OpenDevice device) {
        try {
            for (PoolRange range : missing(grant, device)) {
                MemoryRegion region = grant.export(device, range);
                synchronized (this) {
                    if (!grant.add(device, range, region)) {
                        region.close();
                    }
                }
            }
            synchronized (this) {
                grant.registered(device);
            }
        } catch (VerbsException e) {
            synchronized (this) {
                grant.failed(device, e);
            }
        }
    }

    private synchronized List<PoolRange> missing(GivenGrant grant, OpenDevice device) {
        return grant.missing(device);
    }

    private synchronized Optional<GrantContent> changes(GivenGrant grant) {
        return grant.isEmpty() || grant.isPublishedAs(wanted.getOrDefault(grant.parties(), 0L))
                ? Optional.empty()
                : Optional.of(grant.content());
    }

    private synchronized void published(
            GrantParties parties, GrantContent content, long as, Map<GrantParties, Long> list) {
        list.replace(parties, as);
        refusals.remove(parties);
        GivenGrant grant = given.get(parties);
        if (grant != null) {
            grant.published(content, as);
            log.info("{} is given", parties);
        }
    }

    private synchronized void refused(GrantParties parties, String reason) {
        revokeIf(grant -> grant.parties().equals(parties));
        if (!reason.equals(refusals.put(parties, reason))) {
            log.warn("{} is not given: {}", parties, reason);
        }
    }

    private GrantParties parties(HostedAttachment attachment) {
        return new GrantParties(
                attachment.space(),
                self.id(),
                self.incarnation(),
                attachment.node(),
                attachment.incarnation(),
                attachment.id(),
                Optional.empty());
    }

    private GrantParties parties(HostedPull pull) {
        return new GrantParties(
                pull.space(),
                self.id(),
                self.incarnation(),
                pull.node(),
                pull.incarnation(),
                0,
                Optional.of(pull.extent()));
    }

    @Override
    public void close() {
        thread.close();
    }
}
