package io.farpage.agent.control.guest;

import io.farpage.agent.control.guest.GuestException.Obstacle;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.space.Spaces;
import io.farpage.coordinator.client.CoordinatorException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/** The snapshots of guests that run, one at a time of each. Thread-safe. */
final class GuestSnapshots {
    private final Spaces spaces;
    private final SpacePresence presence;
    private final LongSupplier clock;
    /** The latest, by id of the guest's space. */
    private final Map<Long, GuestSnapshot> latest = new ConcurrentHashMap<>();

    /**
     * @param presence writes the maps of the pages that snapshots have
     * @param clock monotonic nanoseconds
     */
    GuestSnapshots(Spaces spaces, SpacePresence presence, LongSupplier clock) {
        this.spaces = spaces;
        this.presence = presence;
        this.clock = clock;
    }

    /**
     * Begins to make a snapshot of a guest whose VMM is paused, which may run again when this has answered or thrown.
     *
     * @throws GuestException if that is not possible
     */
    SnapshotStatus make(Guest guest, String name) throws CoordinatorException, GuestException {
        check(guest, name);
        GuestSnapshot next = new GuestSnapshot(guest.use(), pagers(guest), presence, name, clock);
        GuestSnapshot begun = latest.compute(
                guest.spaceId(),
                (_, before) -> before == null || before.status().hasEnded() ? next : before);
        if (!begun.equals(next)) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "snapshot '%s' of space '%s' is being made; wait until it is"
                            .formatted(begun.status().name(), guest.space()));
        }
        return next.freeze();
    }

    /**
     * Write-protects pages of a guest while its VMM runs, for a snapshot that follows within some seconds: its pause is
     * shorter.
     *
     * @throws GuestException if that is not possible, or if the snapshot would not be
     */
    SnapshotPreparation prepare(Guest guest, String name) throws CoordinatorException, GuestException {
        check(guest, name);
        return GuestSnapshot.prepare(guest.use().map(), pagers(guest), clock);
    }

    private void check(Guest guest, String name) throws CoordinatorException, GuestException {
        if (guest.use().space().isCoherent()) {
            throw new GuestException(
                    Obstacle.CONFLICT,
                    "space '%s' is coherent, and no snapshot is made of it while other members may write to it"
                            .formatted(guest.space()));
        }
        if (spaces.find(name).isPresent()) {
            throw new GuestException(
                    Obstacle.CONFLICT, "there is a space named '%s'; give the snapshot another name".formatted(name));
        }
    }

    private static PagerFreezing pagers(Guest guest) throws GuestException {
        return guest.freezing()
                .orElseThrow(() -> new GuestException(
                        Obstacle.CONFLICT,
                        "space '%s' has no guest whose VMM runs; a space without one: coordinator space snapshot %s"
                                .formatted(guest.space(), guest.space())));
    }

    /**
     * The latest snapshot of a guest.
     *
     * @throws GuestException if there is none
     */
    SnapshotStatus status(Guest guest) throws GuestException {
        return Optional.ofNullable(latest.get(guest.spaceId()))
                .map(GuestSnapshot::status)
                .orElseThrow(() -> new GuestException(
                        Obstacle.NOT_FOUND,
                        "this agent has made no snapshot of the guest of space '%s'".formatted(guest.space())));
    }

    /** A snapshot that is being made now. */
    Optional<SnapshotStatus> running() {
        return latest.values().stream()
                .map(GuestSnapshot::status)
                .filter(status -> !status.hasEnded())
                .findFirst();
    }

    /** Gives up those that are not being handed over. */
    void stop() {
        latest.values().stream().filter(each -> !each.status().hasEnded()).forEach(GuestSnapshot::stop);
    }
}
