package io.farpage.agent.control.grant;

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
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.VerbsException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What this node grants as a home: for each attachment of another node, a region with a key of its own for each range
 * of the pool that belongs to the space; and for each node that pulls an extent from this one, a region that it can
 * only read. The keys are told to that node alone. Revoking deregisters the regions.
 */
public final class HomeGrants implements PoolAccess {
    private static final Logger log = LoggerFactory.getLogger(HomeGrants.class);

    private final LocalNode self;
    private final Transports transports;
    private final GrantSeal seal;
    private final Map<GrantParties, GivenGrant> given = new HashMap<>();
    private final Set<Peer> barred = new HashSet<>();
    private final Map<GrantParties, String> refusals = new HashMap<>();
    /** Ranges that were released since the coordinator was asked last what lies in the pool. */
    private final List<PoolRange> released = new ArrayList<>();

    private record Peer(String node, Incarnation incarnation) {}

    /** @param transports the devices that the pool is registered with */
    public HomeGrants(LocalNode self, Transports transports) {
        this.self = self;
        this.transports = transports;
        this.seal = new GrantSeal(self.keys());
    }

    @Override
    public synchronized void revokeOthers(Hosted hosted) {
        Set<GrantParties> wanted = Stream.concat(
                        hosted.attachments().stream().map(this::parties),
                        hosted.pulled().stream().map(this::parties))
                .collect(Collectors.toSet());
        revokeIf(grant -> !wanted.contains(grant.parties()) && grant.end(System.nanoTime()));
        refusals.keySet().retainAll(wanted);
    }

    @Override
    public synchronized void refreshing() {
        released.clear();
    }

    /** Whether a node has access to a byte of a range. */
    synchronized boolean isGranted(long offset, long length) {
        return given.values().stream().anyMatch(grant -> grant.overlaps(offset, length));
    }

    @Override
    public synchronized void revoke(long offset, long length) {
        released.add(new PoolRange(offset, length));
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
    }

    @Override
    public synchronized void bar(String node, Incarnation incarnation) {
        barred.add(new Peer(node, incarnation));
        revokeIf(grant -> grant.parties().node().equals(node)
                && grant.parties().incarnation().equals(incarnation));
    }

    @Override
    public synchronized void lift(String node, Incarnation incarnation) {
        barred.remove(new Peer(node, incarnation));
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

    @Override
    public boolean grant(Hosted hosted) throws CoordinatorException {
        Map<Long, SpaceExtents> spaces = hosted.spaces().stream()
                .collect(Collectors.toMap(each -> each.space().id(), each -> each));
        boolean all = true;
        for (HostedAttachment attachment : hosted.attachments()) {
            SpaceExtents space = spaces.get(attachment.space());
            // A node reaches its own pool without a key.
            if (space != null && !attachment.node().equals(self.id())) {
                all &= grant(parties(attachment), space, attachment.granted());
            }
        }
        for (HostedPull pull : hosted.pulled()) {
            SpaceExtents space = spaces.get(pull.space());
            if (space != null && !pull.node().equals(self.id())) {
                all &= grant(parties(pull), space, pull.granted());
            }
        }
        return all && !isOutOfDate();
    }

    /**
     * Whether the grant of a pull that has ended is to be revoked soon, or a range was released, which the next answer
     * may give to another space.
     */
    private synchronized boolean isOutOfDate() {
        return !released.isEmpty() || given.values().stream().anyMatch(GivenGrant::isEnding);
    }

    private boolean grant(GrantParties parties, SpaceExtents space, boolean isGranted) throws CoordinatorException {
        Optional<GrantContent> content = register(parties, space, isGranted);
        if (content.isEmpty()) {
            return true;
        }
        try {
            Optional<Node> grantee = self.coordinator().node(parties.node());
            if (grantee.isEmpty()) {
                return false;
            }
            publish(parties, seal.seal(parties, content.get(), grantee.get()));
            published(parties, content.get());
            return true;
        } catch (GrantException | CoordinatorRefusedException e) {
            // No node has learned these keys. The next refresh tries again, without haste: a node may be at fault for
            // good.
            refused(parties, String.valueOf(e.getMessage()));
            return true;
        }
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
     * Registers what is missing. Returns what is to be published; empty if nothing has changed, or there is nothing to
     * grant.
     */
    private Optional<GrantContent> register(GrantParties parties, SpaceExtents space, boolean isGranted) {
        List<OpenDevice> devices = transports.devices();
        Optional<GivenGrant> prepared = prepare(parties, space, devices);
        prepared.ifPresent(grant -> devices.forEach(device -> register(grant, device)));
        return prepared.flatMap(grant -> changes(grant, isGranted));
    }

    private synchronized Optional<GivenGrant> prepare(
            GrantParties parties, SpaceExtents space, List<OpenDevice> devices) {
        if (barred.contains(new Peer(parties.node(), parties.incarnation()))) {
            return Optional.empty();
        }
        GivenGrant grant = given.computeIfAbsent(parties, GivenGrant::new);
        List<PoolRange> extents = parties.pull()
                .map(extent -> PoolRanges.of(space, extent, self.id(), self.poolId()))
                .orElseGet(() -> PoolRanges.of(space, self.id(), self.poolId()));
        grant.follow(
                extents.stream().filter(this::isNotReleased).toList(),
                PoolRanges.places(space, self.id(), self.poolId()));
        if (grant.isEmpty()) {
            given.remove(parties);
            return Optional.empty();
        }
        grant.retainAll(devices);
        return Optional.of(grant);
    }

    /**
     * Registers a grant with one device, range by range and without the lock, since a device pins the pages of a range
     * meanwhile: revoking and barring do not wait for that. A range that is revoked meanwhile is deregistered again. No
     * node knows its key.
     */
    private void register(GivenGrant grant, OpenDevice device) {
        try {
            for (PoolRange range : missing(grant, device)) {
                MemoryRegion region = grant.export(device, range);
                if (!add(grant, device, range, region)) {
                    region.close();
                }
            }
            registered(grant, device);
        } catch (VerbsException e) {
            failed(grant, device, e);
        }
    }

    private synchronized List<PoolRange> missing(GivenGrant grant, OpenDevice device) {
        return grant.missing(device);
    }

    private synchronized boolean add(GivenGrant grant, OpenDevice device, PoolRange range, MemoryRegion region) {
        return grant.add(device, range, region);
    }

    private synchronized void registered(GivenGrant grant, OpenDevice device) {
        grant.registered(device);
    }

    private synchronized void failed(GivenGrant grant, OpenDevice device, VerbsException why) {
        grant.failed(device, why);
    }

    private synchronized Optional<GrantContent> changes(GivenGrant grant, boolean isGranted) {
        return grant.isEmpty() || (grant.isPublished() && isGranted) ? Optional.empty() : Optional.of(grant.content());
    }

    private boolean isNotReleased(PoolRange range) {
        return released.stream().noneMatch(gone -> range.overlaps(gone.offset(), gone.length()));
    }

    private synchronized void published(GrantParties parties, GrantContent content) {
        refusals.remove(parties);
        GivenGrant grant = given.get(parties);
        if (grant != null) {
            grant.published(content);
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
                attachment.space(), self.id(), self.incarnation(), attachment.node(), attachment.incarnation());
    }

    private GrantParties parties(HostedPull pull) {
        return new GrantParties(
                pull.space(),
                self.id(),
                self.incarnation(),
                pull.node(),
                pull.incarnation(),
                Optional.of(pull.extent()));
    }
}
