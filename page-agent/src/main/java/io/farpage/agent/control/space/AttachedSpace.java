package io.farpage.agent.control.space;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.PullState;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.Torn;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** A space that this agent is attached to, and its current uses. Thread-safe. */
final class AttachedSpace {
    static final String DELETED = "its space was deleted";

    private final Object allocating = new Object();
    private final Optional<Torn> tornBefore;
    private final LongSupplier clock;
    private final int since;
    private volatile Known known;
    /** Id of a member's attachment, by which its homes know it. */
    private volatile long attachment;

    private volatile Optional<PresenceMap> presenceMap = Optional.empty();
    private volatile Optional<String> revoked = Optional.empty();
    /** When room was refused last, by the clock; empty if the last request was granted. */
    private volatile OptionalLong refusedAt = OptionalLong.empty();

    private Consumer<SpaceExtents> onExtents = _ -> {};
    private Runnable whenRevoked = () -> {};
    private Runnable whenDetached = () -> {};
    private int users;
    private long usedAt;
    private boolean exclusive;
    private boolean leaving;
    private boolean cutOff;
    private boolean detached;
    private Optional<String> torn = Optional.empty();
    private Optional<String> seal = Optional.empty();
    private boolean loaded;
    private Optional<String> presence;
    private boolean writes;

    /**
     * What is known of the space.
     *
     * @param extents as the coordinator described them last
     * @param map of them; all of its pages are lost once the space is
     */
    record Known(SpaceExtents extents, SpaceMap map) {
        /** Id of the snapshot below. */
        OptionalLong base() {
            return extents.space().base();
        }
    }

    /**
     * @param presence the mark of the presence map that is right until a node writes
     * @param clock as {@link System#nanoTime}
     * @param since how many documents had been asked for when this agent had attached to the space
     */
    AttachedSpace(SpaceExtents extents, Optional<String> presence, LongSupplier clock, int since) {
        this.presence = presence;
        this.since = since;
        this.clock = clock;
        usedAt = clock.getAsLong();
        known = new Known(extents, map(extents));
        tornBefore = extents.space().torn();
    }

    /** Why the space was torn when this agent attached to it. While the agent is attached that does not change. */
    Optional<Torn> tornBefore() {
        return tornBefore;
    }

    /** Whether a document that was asked for at a time says nothing about this attachment, which was made later. */
    boolean isLaterThan(int asked) {
        return since > asked;
    }

    long id() {
        return map().id();
    }

    /** The id of this attachment. */
    long attachment() {
        return attachment;
    }

    /** This agent is attached by the attachment with an id. */
    void attachedBy(long made) {
        attachment = made;
    }

    /** How this agent is attached. A space that a guest has torn stays so until it is detached. */
    AttachMode mode() {
        if (extents().space().isCoherent()) {
            return AttachMode.MEMBER;
        }
        return isExclusive() || tornByUse().isPresent() ? AttachMode.EXCLUSIVE : AttachMode.SHARED;
    }

    /** Whether homes know this member by an attachment, so that they have its pages. */
    boolean isMemberBy(long listed) {
        return mode() != AttachMode.MEMBER || listed == attachment;
    }

    String name() {
        return map().name();
    }

    SpaceMap map() {
        return known.map();
    }

    /** The extents and the map that is made of them. */
    Known known() {
        return known;
    }

    /** The whole space, as the coordinator described it when the map was made. */
    SpaceExtents extents() {
        return known.extents();
    }

    /**
     * Replaces the extents by newer ones of the same space. Does nothing if they are older, of another space, or if
     * this use was revoked: answers may arrive in another order than they were given.
     *
     * @param before gets them before the map has them
     * @return whether they were replaced
     */
    synchronized boolean update(SpaceExtents now, Consumer<SpaceExtents> before) {
        SpaceExtents extents = extents();
        if (now.revision() < extents.revision() || revoked.isPresent()) {
            return false;
        }
        SpaceMap latest = map(now);
        if (latest.id() != id() || latest.pages() != map().pages()) {
            return false;
        }
        if (!now.extents().equals(extents.extents()) || !now.space().equals(extents.space())) {
            onExtents.accept(now);
        }
        before.accept(now);
        known = new Known(now, latest);
        return true;
    }

    /** Whether pages of its guest wait for room at homes. */
    boolean isRoomless() {
        return refusedAt.isPresent();
    }

    /** Whether room was refused less than a time ago. */
    boolean wasRefusedWithin(Duration time) {
        OptionalLong at = refusedAt;
        return at.isPresent() && clock.getAsLong() - at.getAsLong() < time.toNanos();
    }

    void roomRefused() {
        refusedAt = OptionalLong.of(clock.getAsLong());
    }

    void roomGranted() {
        refusedAt = OptionalLong.empty();
    }

    /** Held while room is asked for. */
    Object allocating() {
        return allocating;
    }

    /** The extent of a page, as the coordinator described it last. */
    Extent extentOf(long page) {
        return extents().extents().stream()
                .filter(extent -> extent.contains(page))
                .findFirst()
                .orElseThrow(() -> new IndexOutOfBoundsException("space %s has no page %d".formatted(name(), page)));
    }

    /** As {@link SpaceUse#onExtents}. */
    synchronized void onExtents(Consumer<SpaceExtents> receiver) {
        onExtents = receiver;
        receiver.accept(extents());
    }

    /**
     * The map of a space as the coordinator describes it.
     *
     * @throws IllegalArgumentException if the extents leave a gap or overlap
     */
    static SpaceMap map(SpaceExtents of) {
        return new SpaceMap(
                of.space().name(),
                of.space().id(),
                of.space().pages(),
                of.space().storedPages(),
                of.space().pageSize(),
                of.extents().stream().map(AttachedSpace::extent).toList(),
                of.revision());
    }

    private static SpaceMap.Extent extent(Extent of) {
        if (!of.isAllocated()) {
            return SpaceMap.Extent.unallocated(of.firstPage(), of.count(), of.epochNumber());
        }
        ExtentHome home = of.primary();
        return new SpaceMap.Extent(
                of.firstPage(),
                of.count(),
                home.node(),
                home.incarnation().value(),
                home.offset(),
                of.state() == ExtentState.LOST,
                of.homes().stream()
                        .skip(1)
                        .map(other -> new SpaceMap.Copy(
                                other.node(), other.incarnation().value(), other.offset()))
                        .toList(),
                of.epochNumber(),
                of.joining()
                        .map(joins -> new SpaceMap.Copy(
                                joins.node(), joins.incarnation().value(), joins.offset())),
                of.pull().map(AttachedSpace::pull).orElse(SpaceMap.Pull.NONE));
    }

    private static SpaceMap.Pull pull(PullState of) {
        return switch (of) {
            case AWAITED -> SpaceMap.Pull.AWAITED;
            case RUNNING -> SpaceMap.Pull.RUNNING;
            case DONE -> SpaceMap.Pull.DONE;
        };
    }

    /** Starts a use, unless the space is being detached or is used exclusively. */
    synchronized boolean enter() {
        if (leaving || exclusive) {
            return false;
        }
        users++;
        return true;
    }

    /** Starts an exclusive use; false if there is another use or the space is being detached. */
    synchronized boolean enterExclusively() {
        if (leaving || users > 0) {
            return false;
        }
        users = 1;
        exclusive = true;
        return true;
    }

    synchronized boolean isExclusive() {
        return exclusive;
    }

    /** Ends a use. The space of an exclusive use is detached: until then it is torn if this process ends. */
    synchronized void exit() {
        users--;
        leaving |= exclusive;
        exclusive = false;
        usedAt = clock.getAsLong();
    }

    /** Whether the last use ended {@code idle} ago or earlier, and another may start. */
    synchronized boolean isIdle(Duration idle) {
        return !leaving && users == 0 && clock.getAsLong() - usedAt >= idle.toNanos();
    }

    /** Lets no further use start if the last one ended {@code idle} ago or earlier. */
    synchronized void leaveIfIdle(Duration idle) {
        leaving |= isIdle(idle);
    }

    /** Lets no further use start. */
    synchronized void leave() {
        leaving = true;
    }

    synchronized boolean isLeaving() {
        return leaving;
    }

    /**
     * The space is deleted or was taken over. No further use may start, and all pages of an exclusive use count as
     * lost.
     *
     * @param reason for people, a clause such as {@link #DELETED}
     * @return whether that changes anything
     */
    synchronized boolean revoke(String reason) {
        boolean isNew = !leaving || (exclusive && revoked.isEmpty());
        leaving = true;
        if (exclusive && revoked.isEmpty()) {
            known = new Known(extents(), map().lost());
            revoked = Optional.of(reason);
            whenRevoked.run();
        }
        return isNew;
    }

    /** This agent is attached no longer, and the space is gone: its pages are lost to all uses. */
    synchronized void lose() {
        known = new Known(extents(), map().lost());
        leaving = true;
    }

    /** Runs a task when the exclusive use is revoked; at once if it has been. The task must not wait. */
    synchronized void whenRevoked(Runnable task) {
        whenRevoked = task;
        if (revoked.isPresent()) {
            task.run();
        }
    }

    /** Runs a task before another use begins, once this agent is detached from the space; at once if it is. */
    void whenDetached(Runnable task) {
        synchronized (this) {
            if (!detached) {
                whenDetached = task;
                return;
            }
        }
        task.run();
    }

    /** The coordinator has accepted the detachment. */
    void onDetached() {
        Runnable task;
        synchronized (this) {
            detached = true;
            task = whenDetached;
        }
        task.run();
    }

    /** Why the exclusive use was revoked, if it was. Any thread. */
    Optional<String> revocation() {
        return revoked;
    }

    /** The exclusive use has no transfer under way and starts no more. */
    synchronized void cutOff() {
        cutOff = true;
    }

    /** Starts another use beside one that has not ended. */
    synchronized void enterBeside() {
        users++;
    }

    /** Ends a use that began beside another one, which goes on. */
    synchronized void exitBeside() {
        users--;
        usedAt = clock.getAsLong();
    }

    /** Whether the space must be detached and no transfer of this agent can reach its pages. */
    synchronized boolean isUnused() {
        return leaving && (users == 0 || cutOff);
    }

    /** Not all pages of the exclusive use are at their homes. */
    synchronized void tear(String reason) {
        torn = Optional.of(Torn.reason(reason));
    }

    /**
     * Why an exclusive use that has ended left the space torn. It is reported to the coordinator when this agent
     * detaches.
     */
    synchronized Optional<String> tornByUse() {
        return torn;
    }

    /** Why the space is torn, if it is: also if its exclusive use has not ended. */
    synchronized Optional<String> torn() {
        return torn.isEmpty() && exclusive ? Optional.of("the agent ended before its guest did") : torn;
    }

    /** The exclusive use has written all pages of a space that was made to be loaded. */
    synchronized void loaded() {
        loaded = true;
    }

    /** Whether an exclusive use has written all pages of a space that was made to be loaded. */
    synchronized boolean isLoaded() {
        return loaded;
    }

    /** The exclusive use has left the tags of the pages in a file with this mark. */
    synchronized void seal(String mark) {
        seal = Optional.of(mark);
    }

    /** The mark of the presence map of an exclusive use, if one is right. */
    synchronized Optional<String> presence() {
        return presence;
    }

    /** The homes have a presence map of this mark, which is right until this agent writes; or none is right. */
    synchronized void presence(Optional<String> mark) {
        presence = mark;
    }

    /** The presence map of a snapshot, if {@link #keep} was called. Any thread; not to be changed. */
    Optional<PresenceMap> presenceMap() {
        return presenceMap.filter(_ -> isSnapshot());
    }

    /** Keeps the presence map of a snapshot, which no node changes, for other uses while this agent is attached. */
    void keep(PresenceMap map) {
        if (isSnapshot()) {
            presenceMap = Optional.of(map);
        }
    }

    private boolean isSnapshot() {
        return extents().space().snapshot().isPresent();
    }

    /** Whether the coordinator knows that this agent may write beside others. */
    synchronized boolean writes() {
        return writes;
    }

    /** The coordinator knows that this agent may write. */
    synchronized void writing() {
        writes = true;
        presence = Optional.empty();
    }

    /** The mark of the file with the tags of the pages, if an exclusive use has written one. */
    synchronized Optional<String> seal() {
        return seal;
    }
}
