package io.farpage.agent.control.guest;

import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.guest.GuestException.Obstacle;
import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.space.SpaceInUseException;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.control.trace.TracedPager;
import io.farpage.agent.data.coherence.CoherentMembers;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.VmmState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** All guests of this agent, by the id of their space. A request may name the space by name or id. Thread-safe. */
public final class Guests implements AutoCloseable, SampledGuests {
    private static final Duration FENCING_TIMEOUT = Duration.ofSeconds(3);
    private static final Duration FENCING_PAUSE = Duration.ofMillis(50);
    /** How long a detach waits for the guest to be attached. */
    private static final Duration ATTACH_PATIENCE = Duration.ofSeconds(30);

    /** A request that attaches a guest to the space of a name, until it is over. */
    private record Attaching(String name, CountDownLatch over) {}

    private final CoordinatorClient coordinator;
    private final SpaceCreation creation;
    private final Spaces spaces;
    private final PagerHosts hosts;
    private final GuestEvents events;
    private final GuestOpening opening;
    private final Map<Long, Guest> guests = new ConcurrentHashMap<>();
    private final Adoptions adoptions;
    private final GuestParking parking = new GuestParking(System::nanoTime);
    private final GuestSnapshots snapshots;
    /**
     * Requests that attach guests. They wait for the coordinator, but not for each other. Guarded by this.
     */
    private final List<Attaching> attaching = new ArrayList<>();
    /** Another process takes over: no guest may begin that this process would take along. Guarded by this. */
    private boolean leaving;

    /**
     * @param presence of the pages of spaces
     * @param shards that guests are spread over
     * @param links a shard's side of the link to a node, by the shard's number
     * @param members makes guests of coherent spaces members; empty if this agent serves no such spaces
     */
    public Guests(
            LocalNode node,
            Spaces spaces,
            SpacePresence presence,
            List<ShardLoop> shards,
            ShardLinks links,
            Optional<CoherentMembers> members,
            GuestOptions options) {
        this.coordinator = node.coordinator();
        creation = new SpaceCreation(node, options.seals());
        this.spaces = spaces;
        List<PagerHost> each = new ArrayList<>();
        for (ShardLoop shard : shards) {
            int number = each.size();
            each.add(new PagerHost(number, node, shard, peer -> links.link(peer, number), options, spaces.drops()));
        }
        hosts = new PagerHosts(each, options.pins());
        events = new GuestEvents(coordinator, spaces, presence);
        opening = new GuestOpening(
                spaces,
                hosts,
                members.map(made -> new GuestOpening.Membership(made, node.id(), node.incarnation())),
                options,
                presence,
                events);
        snapshots = new GuestSnapshots(spaces, presence, System::nanoTime);
        adoptions = new Adoptions(options.keeping(), options.seals(), spaces, new Adopting());
    }

    /**
     * The spaces whose guests an earlier process has left running and this one is about to serve: part of the node's
     * registration.
     */
    public List<Long> adopted() {
        return adoptions.spaces();
    }

    /** The spaces of the guests that an earlier process has left and that are not served yet. Any thread. */
    public List<NodeReport.Left> left() {
        return adoptions.left();
    }

    /** Starts to serve the guests that an earlier process has left running, once the coordinator knows this one. */
    public void adopt(BooleanSupplier isKnown) {
        adoptions.start(isKnown);
    }

    /** Guests of an earlier process that this one has adopted. */
    public long adoptions() {
        return adoptions.adopted();
    }

    /** Guests of an earlier process that run and are not served: not yet, or no longer. */
    public int unserved() {
        return adoptions.unserved();
    }

    /** The links to other nodes. */
    @FunctionalInterface
    public interface ShardLinks {
        /** A shard's side of the link to a node, which may not be up. Any thread. */
        PeerLink link(String peer, int shard);
    }

    /**
     * Prepares a guest: creates its space, or makes it as a clone, if there is none and the request says how, attaches
     * to it exclusively or as a member, and listens for the VMM.
     *
     * @return its status
     */
    public GuestStatus attach(String name, GuestRequest request) throws CoordinatorException, GuestException {
        checkClone(name, request);
        OptionalLong known = request.cloneOf().isPresent() ? spaces.resolveAttached(name) : spaces.resolve(name);
        if (known.isPresent()) {
            requireNoGuest(known.getAsLong());
        }
        if (request.sizeBytes().isPresent()) {
            creation.awaitDeletion(name);
            known = spaces.resolve(name);
        }
        // Outside the lock: a file system that does not answer delays this attach alone.
        HandoffSocket socket = GuestOpening.listen(request);
        boolean accepted = false;
        try {
            Attaching one = beginAttach(name, known);
            try {
                GuestStatus status = attachWhenFenced(name, known, request, socket);
                accepted = true;
                return status;
            } finally {
                endAttach(one);
            }
        } finally {
            if (!accepted) {
                socket.close();
            }
        }
    }

    private static void checkClone(String name, GuestRequest request) throws GuestException {
        try {
            request.checkClone();
            if (request.cloneOf().isPresent()) {
                var _ = new CloneRequest(name);
            }
        } catch (IllegalArgumentException e) {
            throw new GuestException(Obstacle.INVALID, String.valueOf(e.getMessage()));
        }
    }

    private synchronized Attaching beginAttach(String name, OptionalLong known) throws GuestException {
        if (leaving) {
            throw new GuestException(
                    Obstacle.CONFLICT, "this agent hands over to another process; try again when that one answers");
        }
        if (known.isPresent()) {
            requireNoGuest(known.getAsLong());
        }
        if (guests.values().stream().filter(g -> !g.hasEnded()).count() + attaching.size() >= hosts.capacity()) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "this agent serves %d guests already, the most that it can: %s"
                            .formatted(hosts.capacity(), hosts.fullness()));
        }
        Attaching begun = new Attaching(name, new CountDownLatch(1));
        attaching.add(begun);
        return begun;
    }

    private synchronized void endAttach(Attaching one) {
        attaching.remove(one);
        one.over().countDown();
    }

    /** Homes need a moment to cut off an agent that was superseded; an attach that follows at once waits for them. */
    private GuestStatus attachWhenFenced(String name, OptionalLong known, GuestRequest request, HandoffSocket socket)
            throws CoordinatorException, GuestException {
        long deadline = System.nanoTime() + FENCING_TIMEOUT.toNanos();
        while (true) {
            try {
                return attach(name, known, request, socket);
            } catch (CoordinatorRefusedException e) {
                if (!e.problem().is("fencing") || System.nanoTime() - deadline >= 0) {
                    throw e;
                }
                LockSupport.parkNanos(FENCING_PAUSE.toNanos());
            }
        }
    }

    private void requireNoGuest(long id) throws GuestException {
        if (adoptions.isPending(id)) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    ("the space with id %d has a guest that an earlier process of this agent has left; the log says why"
                                    + " it is not served; end its VMM")
                            .formatted(id));
        }
        Guest guest = guests.get(id);
        if (guest != null && !guest.hasEnded()) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "space '%s' has a guest already (%s); detach it first"
                            .formatted(guest.space(), guest.status().state()));
        }
    }

    /** @param known id of the space, if there was one when the request came */
    private GuestStatus attach(String name, OptionalLong known, GuestRequest request, HandoffSocket socket)
            throws CoordinatorException, GuestException {
        try {
            Optional<SpaceUse> clone = known.isPresent() || request.cloneOf().isEmpty()
                    ? Optional.empty()
                    : makeClone(request.cloneOf().get(), name);
            return clone.isPresent()
                    ? open(clone.get(), false, request, socket)
                    : attachExisting(name, known, request, socket);
        } catch (SpaceInUseException e) {
            throw new GuestException(Obstacle.CONFLICT, String.valueOf(e.getMessage()));
        }
    }

    /** The use of a clone that is made; empty if there is a space of that name, also one that this has made. */
    private Optional<SpaceUse> makeClone(String snapshot, String name) throws CoordinatorException, GuestException {
        try {
            return spaces.useNewClone(snapshot, name);
        } catch (CoordinatorRefusedException e) {
            creation.cloneByItself(snapshot, name, e);
            return Optional.empty();
        }
    }

    private GuestStatus attachExisting(String name, OptionalLong known, GuestRequest request, HandoffSocket socket)
            throws CoordinatorException, GuestException {
        Optional<Space> created = creation.createIfAbsent(name, request);
        OptionalLong id = created.isPresent() ? OptionalLong.of(created.get().id()) : known;
        if (id.isEmpty()) {
            id = spaces.resolve(name); // another request has created it meanwhile
        }
        if (id.isPresent() && request.cloneOf().isPresent()) {
            creation.requireCloneOf(request.cloneOf().get(), id.getAsLong());
        }
        Optional<SpaceUse> exclusive =
                id.isPresent() ? spaces.useForGuest(id.getAsLong(), GuestOpening.claim(request)) : Optional.empty();
        SpaceUse use = exclusive.orElseThrow(() -> new GuestException(
                Obstacle.NOT_FOUND, "there is no space '" + name + "'; give sizeBytes (--size) to create it"));
        return open(use, created.isPresent(), request, socket);
    }

    private GuestStatus open(SpaceUse use, boolean isCreated, GuestRequest request, HandoffSocket socket)
            throws CoordinatorException, GuestException {
        Guest guest = opening.open(use, isCreated, request, socket);
        begin(guest);
        return guest.status();
    }

    private synchronized void begin(Guest guest) {
        guests.values().removeIf(g -> g.hasEnded() && g.space().equals(guest.space()));
        guests.put(guest.spaceId(), guest);
        guest.start();
    }

    /** Creates a space, for a guest of any node. */
    public Space create(NewSpace space) throws CoordinatorException, GuestException {
        return creation.create(space);
    }

    /** Creates a space that is a snapshot when it is loaded: of the memory of a machine, or the state of its VMM. */
    public Space createToLoad(NewSpace space, Optional<VmmState> file) throws CoordinatorException, GuestException {
        return creation.createToLoad(space, file);
    }

    /** A space as the coordinator has it. */
    public Space describe(String name) throws CoordinatorException, GuestException {
        return coordinator
                .space(name)
                .orElseThrow(() -> new GuestException(Obstacle.NOT_FOUND, "there is no space '" + name + "'"));
    }

    /** Detaches a guest whose VMM does not run. If the guest is being attached, waits for that. */
    public void detach(String name) throws GuestException {
        awaitAttached(name);
        detachNow(name);
    }

    private synchronized void detachNow(String name) throws GuestException {
        Guest guest = require(name);
        if (!guest.stopWaiting()) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "the VMM of space '%s' (process %d) runs and would stall without its memory; end it first"
                            .formatted(name, guest.pid()));
        }
        guest.stop();
        guests.remove(guest.spaceId());
    }

    private void awaitAttached(String name) throws GuestException {
        try {
            for (Attaching one : attachingTo(name)) {
                if (!one.over().await(ATTACH_PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
                    throw new GuestException(
                            Obstacle.CONFLICT,
                            "a guest is still being attached to space '" + name + "'; try again when it is");
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new GuestException(Obstacle.CONFLICT, "the wait for the guest of '" + name + "' was interrupted");
        }
    }

    private synchronized List<Attaching> attachingTo(String name) {
        return attaching.stream().filter(one -> one.name().equals(name)).toList();
    }

    /** Changes how much of a guest's memory may be resident. */
    public void resize(String name, long localBytes) throws GuestException {
        Guest guest = require(name);
        PagerStatus now = guest.status().where();
        int pageSize = now.pageSize();
        if (!guest.isAttached()) {
            throw new GuestException(
                    Obstacle.CONFLICT, "space '" + name + "' has no guest whose VMM runs; wait until it has attached");
        }
        try {
            int pages = new PagerOptions(GuestOpening.pages(localBytes, pageSize), 1).localPages();
            GroupLimit.of(guest.pid(), pageSize).require(pages, now.pages(), now.residentPages(), pageSize);
            guest.resize(pages);
        } catch (IllegalArgumentException e) {
            throw new GuestException(Obstacle.INVALID, String.valueOf(e.getMessage()));
        }
    }

    /** Makes all but a few pages of a guest leave for their homes, and waits for that. */
    public ParkResult park(String name, ParkRequest request) throws GuestException {
        return parking.park(require(name), request);
    }

    /** Ends parking; a guest that is not parked gets the limit, if the request has one. */
    public void unpark(String name, UnparkRequest request) throws GuestException {
        if (request.localBytes().isPresent()) {
            resize(name, request.localBytes().getAsLong());
        }
        require(name).unpark();
    }

    /** As {@link GuestSnapshots#prepare}. */
    public SnapshotPreparation prepareSnapshot(String name, SnapshotName of)
            throws CoordinatorException, GuestException {
        return snapshots.prepare(require(name), of.name());
    }

    /** As {@link GuestSnapshots#make}. */
    public SnapshotStatus snapshot(String name, SnapshotName of) throws CoordinatorException, GuestException {
        return snapshots.make(require(name), of.name());
    }

    /** The latest snapshot of a guest. */
    public SnapshotStatus snapshot(String name) throws GuestException {
        return snapshots.status(require(name));
    }

    private Guest require(String name) throws GuestException {
        return find(name)
                .orElseThrow(() -> new GuestException(
                        Obstacle.NOT_FOUND, "space '" + name + "' has no guest on this node; attach one first"));
    }

    /** The guest of a space. A name that was given to several spaces one after the other means the latest. */
    private Optional<Guest> find(String nameOrId) {
        OptionalLong id = Space.idOf(nameOrId);
        if (id.isPresent()) {
            return Optional.ofNullable(guests.get(id.getAsLong()));
        }
        return guests.values().stream()
                .filter(guest -> guest.space().equals(nameOrId))
                .max(Comparator.comparingLong(Guest::spaceId));
    }

    /** All guests, those that have ended included until they are detached. */
    public List<GuestStatus> status() {
        return guests.values().stream()
                .map(Guest::status)
                .sorted(Comparator.comparing(GuestStatus::space))
                .toList();
    }

    /** The latencies of the guests whose VMMs run. */
    public List<GuestLatencies> latencies() {
        return guests.values().stream()
                .map(Guest::latencies)
                .flatMap(Optional::stream)
                .sorted(Comparator.comparing(GuestLatencies::space))
                .toList();
    }

    /** The recorders of those latencies. */
    public List<LatencySeries> series() {
        return guests.values().stream()
                .flatMap(guest -> guest.series().stream())
                .toList();
    }

    /** The pagers of the guests whose VMMs run, for traces of their faults. */
    public List<TracedPager> traced() {
        return guests.values().stream()
                .flatMap(guest -> guest.traced().stream())
                .toList();
    }

    /** How far the copying of pages to homes that join is, of all guests. */
    public List<CopyReport.Copy> copies() {
        return guests.values().stream()
                .flatMap(guest -> guest.copies().stream())
                .toList();
    }

    @Override
    public List<GuestSample> samples() {
        return guests.values().stream()
                .map(Guest::sample)
                .flatMap(Optional::stream)
                .toList();
    }

    @Override
    public void requestMaps(Set<Long> of) {
        of.forEach(space -> Optional.ofNullable(guests.get(space)).ifPresent(Guest::requestMap));
    }

    /** One guest. */
    public GuestStatus status(String name) throws GuestException {
        return require(name).status();
    }

    /**
     * Another process takes over from now on, and no further guest begins in this one. Guests that wait for an attempt
     * to adopt them are not in its way: the keeper holds all of each since this process began, and the record names an
     * incarnation whose attachment the coordinator passes on.
     *
     * @return what that process could not go on with; then guests may begin as before
     */
    public synchronized Optional<String> leave() {
        Optional<String> snapshot = snapshots
                .running()
                .map(status -> "snapshot '%s' is being made; try again when it is".formatted(status.name()));
        Optional<String> obstacle = snapshot.or(this::unkept).or(this::attachUnderWay);
        leaving = obstacle.isEmpty();
        return obstacle;
    }

    private Optional<String> attachUnderWay() {
        return attaching.stream()
                .findFirst()
                .map(one -> "a guest is being attached to space '%s'; try again when it is".formatted(one.name()));
    }

    private Optional<String> unkept() {
        return guests.values().stream()
                .filter(guest -> !guest.hasEnded() && !guest.isKept())
                .map(guest -> guest.isAttached()
                        ? ("the guest of space '%s' (process %d) does not survive the end of this process, as the log"
                                        + " has said at its handoff; end its VMM, or move it, first")
                                .formatted(guest.space(), guest.pid())
                        : ("the guest of space '%s' waits for its VMM, or its pages are being saved; start the VMM, or"
                                        + " detach the guest, first")
                                .formatted(guest.space()))
                .findFirst();
    }

    /** Ends all of them together; VMMs that run stall at their next fault. */
    @Override
    public void close() {
        adoptions.close();
        snapshots.stop();
        guests.values().forEach(Guest::requestStop);
        guests.values().forEach(Guest::stop);
    }

    /** Sets the watch, which receives the events of guests from now on. Any thread. */
    public void onChange(GuestWatch next) {
        events.watch(next);
    }

    private final class Adopting implements Adoptions.Server {
        @Override
        public Runnable prepare(LeftGuest left, SpaceUse use) throws KeptGuestException {
            GuestRecord record = left.record().orElseThrow();
            Guest guest;
            try {
                guest = opening.adopt(left, use);
            } catch (KeptGuestException e) {
                use.tear("the guest that an earlier process has left cannot be served");
                use.close();
                spaces.detachWhenUnused(use.map().id());
                throw e;
            }
            guests.put(guest.spaceId(), guest);
            return () -> {
                guest.start();
                events.adopted(record.name(), record.pid(), Optional.empty());
            };
        }

        @Override
        public void refused(LeftGuest left, String why) {
            events.adopted(left.name(), left.pid(), Optional.of(why));
        }
    }
}
