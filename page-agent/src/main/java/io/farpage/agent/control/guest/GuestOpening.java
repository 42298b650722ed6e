package io.farpage.agent.control.guest;

import io.farpage.agent.control.guest.GuestException.Obstacle;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.seal.SealException;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.seal.SpaceSeal;
import io.farpage.agent.control.space.Claim;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.coherence.CoherentMembers;
import io.farpage.agent.data.coherence.MemberId;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * Makes guests of what they need: the use of a space, its seal, and a socket for the VMM, or memory that an earlier
 * process has served. Thread-safe.
 */
final class GuestOpening {
    private static final int DEFAULT_PREFETCH = 32;

    private final Spaces spaces;
    private final PagerHosts hosts;
    private final Optional<Membership> membership;
    private final GuestOptions options;
    private final SpacePresence presence;
    private final Guest.Listener listener;

    /**
     * What makes the guests of coherent spaces members.
     *
     * @param node id of this one
     * @param incarnation of this node
     */
    record Membership(CoherentMembers members, String node, Incarnation incarnation) {
        /** By which the homes of a space know this node. */
        MemberId idOf(SpaceUse use) {
            return new MemberId(node, incarnation.value(), use.attachment());
        }
    }

    /**
     * Opens nothing yet.
     *
     * @param membership empty if this agent serves no coherent spaces
     * @param presence of pages that earlier guests have left
     * @param listener of every guest
     */
    GuestOpening(
            Spaces spaces,
            PagerHosts hosts,
            Optional<Membership> membership,
            GuestOptions options,
            SpacePresence presence,
            Guest.Listener listener) {
        this.spaces = spaces;
        this.hosts = hosts;
        this.membership = membership;
        this.options = options;
        this.presence = presence;
        this.listener = listener;
    }

    /** The socket on which the VMM hands its memory over. */
    static HandoffSocket listen(GuestRequest request) throws GuestException {
        try {
            return HandoffSocket.listen(request.path(), request.access());
        } catch (IOException | IllegalArgumentException e) {
            throw new GuestException(Obstacle.INVALID, String.valueOf(e.getMessage()));
        }
    }

    /** How a guest claims its space. */
    static Claim claim(GuestRequest request) {
        return new Claim(
                request.force().orElse(false) || isReset(request),
                request.takeover().orElse(false));
    }

    private static boolean isReset(GuestRequest request) {
        return request.reset().orElse(false);
    }

    /**
     * Makes a guest that waits for its VMM once it is started.
     *
     * @param use of its space; closed if this throws
     * @param fresh whether the space was created for it
     */
    Guest open(SpaceUse use, boolean fresh, GuestRequest request, HandoffSocket socket)
            throws CoordinatorException, GuestException {
        boolean done = false;
        Optional<SpaceSeal> seal = Optional.empty();
        try {
            if (use.map().pages() > Integer.MAX_VALUE) {
                throw new GuestException(
                        Obstacle.INVALID,
                        "space '" + use.map().name() + "' has more pages than a guest may have, 2^31 - 1");
            }
            hosts.requireStaging(use.map().pageSize());
            Footprint.requireHeap(
                    use.map().pages(),
                    use.space().encryption().isPresent(),
                    Runtime.getRuntime().maxMemory());
            seal = seal(use.space(), request);
            if (use.space().isCoherent()) {
                Guest member = member(use, request, socket);
                done = true;
                return member;
            }
            int pages = (int) use.map().pages();
            HandoffAdmission admission = new HandoffAdmission(
                    use,
                    new SpacePast(
                            seal.map(SpaceSeal::hasPages).orElse(!fresh),
                            fresh ? PresenceMap.zeros(pages) : PresenceMap.unknown(pages),
                            seal),
                    new HandoffAdmission.Recall(presence, request.replay().orElse(true)),
                    options(request, use.map().pageSize()),
                    hosts,
                    new HandoffAdmission.Keeping(options.keeping(), socket.path()));
            Guest guest = new Guest(use, socket, admission, listener, options.parkAfter(), System::nanoTime);
            done = true;
            return guest;
        } catch (IllegalArgumentException e) {
            throw new GuestException(Obstacle.INVALID, String.valueOf(e.getMessage()));
        } finally {
            if (!done) {
                seal.ifPresent(SpaceSeal::close);
                use.close();
                spaces.detachWhenUnused(use.map().id());
            }
        }
    }

    /** A member is never parked: its homes may ask for its pages at any moment. */
    private Guest member(SpaceUse use, GuestRequest request, HandoffSocket socket) throws GuestException {
        Membership of = membership.orElseThrow(() -> new GuestException(
                Obstacle.CONFLICT,
                "space '%s' (id %d) is coherent, and this agent serves no coherent spaces; use another space"
                        .formatted(use.map().name(), use.map().id())));
        MemberAdmission admission = new MemberAdmission(
                use,
                of,
                options(request, use.map().pageSize()),
                hosts,
                new HandoffAdmission.Keeping(options.keeping(), socket.path()));
        return new Guest(use, socket, admission, listener, Duration.ZERO, System::nanoTime);
    }

    private Optional<SpaceSeal> seal(Space space, GuestRequest request) throws GuestException {
        if (request.encrypted().orElse(false) && space.encryption().isEmpty()) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "space '%s' (id %d) is not encrypted; create another one with encrypted: true (--encrypted)"
                            .formatted(space.name(), space.id()));
        }
        try {
            return options.seals().open(space, new Seals.Trust(request.force().orElse(false), isReset(request)));
        } catch (SealException e) {
            throw new GuestException(Obstacle.CONFLICT, String.valueOf(e.getMessage()));
        }
    }

    private PagerOptions options(GuestRequest request, int pageSize) {
        int local = request.localBytes().isPresent()
                ? pages(request.localBytes().getAsLong(), pageSize)
                : Integer.MAX_VALUE;
        return new PagerOptions(
                local,
                request.prefetchPages().orElse(DEFAULT_PREFETCH),
                PagerOptions.CYCLE_PAGES,
                options.flushDeadline());
    }

    /** The number of whole pages in {@code bytes} bytes, at most as many as a guest can have. */
    static int pages(long bytes, int pageSize) {
        return (int) Math.min(Integer.MAX_VALUE, bytes / pageSize);
    }

    /**
     * Makes a guest whose VMM an earlier process has left running. It is served once it is started.
     *
     * @param use of its space; the caller's if this throws
     */
    Guest adopt(LeftGuest left, SpaceUse use) throws KeptGuestException {
        GuestRecord record = left.record().orElseThrow();
        HandoffSocket socket = HandoffSocket.ended(Path.of(record.socket()));
        PagerOptions allowed = new PagerOptions(
                record.localPages(), record.prefetchPages(), PagerOptions.CYCLE_PAGES, options.flushDeadline());
        boolean isMember = record.attached() == AttachMode.MEMBER;
        Paging paging = isMember
                ? left.memberPaging(
                        use,
                        membership.orElseThrow(() ->
                                new KeptGuestException("this agent serves no coherent spaces, and its space is one")),
                        allowed,
                        hosts)
                : left.paging(use, allowed, hosts);
        return new Guest(
                use,
                socket,
                new AdoptedMemory(paging, left.seal()),
                listener,
                isMember ? Duration.ZERO : options.parkAfter(),
                System::nanoTime);
    }
}
