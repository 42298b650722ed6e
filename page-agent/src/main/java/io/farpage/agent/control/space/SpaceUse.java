package io.farpage.agent.control.space;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.Torn;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A space in use: its pages may be read and written until this is closed. If it is a clone, its snapshot is in use,
 * too, as long as it is.
 */
public final class SpaceUse implements AutoCloseable {
    private final AttachedSpace space;
    private final Spaces spaces;
    private final boolean isBeside;
    private final Supplier<SpaceMap> map;
    private volatile Optional<SpaceUse> base;
    private boolean closed;

    /** @param base the use of the snapshot that the space is a clone of */
    SpaceUse(AttachedSpace space, Spaces spaces, Optional<SpaceUse> base) {
        this.space = space;
        this.spaces = spaces;
        this.base = base;
        isBeside = false;
        map = new LayeredMap(space, this::base);
    }

    private SpaceUse(SpaceUse other) {
        space = other.space;
        spaces = other.spaces;
        base = other.base.map(SpaceUse::another);
        isBeside = true;
        map = other.map;
    }

    /** The use of the snapshot that the space is a clone of. Another one, if a snapshot is made of its guest. */
    public Optional<SpaceUse> base() {
        return base;
    }

    /** Another use beside this one, to be closed before or after it: the space stays attached until both are. */
    public SpaceUse another() {
        space.enterBeside();
        return new SpaceUse(this);
    }

    /**
     * Makes a snapshot of the pages that the homes have, while this exclusive use goes on. Nothing is written to the
     * homes before the answer is known, and after it until {@link #rebase}.
     *
     * @throws CoordinatorRefusedException if there is no snapshot
     * @throws CoordinatorException if there may be one
     */
    public Space makeSnapshot(String name, String key, int attempt, Optional<String> mark) throws CoordinatorException {
        return spaces.makeSnapshot(space, name, key, attempt, mark);
    }

    /**
     * The space is a clone of a snapshot from now on, whose homes have its pages.
     *
     * @return whether the map says so
     */
    public boolean rebase(long snapshot) throws CoordinatorException {
        if (!isOver(base, snapshot)) {
            Optional<SpaceUse> below = spaces.use(snapshot);
            below.ifPresent(this::lay);
        }
        spaces.readExtents(space);
        return isOver(base, snapshot) && space.known().base().equals(OptionalLong.of(snapshot));
    }

    private static boolean isOver(Optional<SpaceUse> below, long snapshot) {
        return below.filter(use -> use.space.id() == snapshot).isPresent();
    }

    private synchronized void lay(SpaceUse below) {
        if (closed) {
            below.close();
        } else {
            Optional<SpaceUse> before = base;
            base = Optional.of(below);
            before.ifPresent(SpaceUse::close);
        }
    }

    /** The mark of the presence map that is right as long as no node writes; empty if there is none. */
    public Optional<String> presence() throws CoordinatorException {
        return space.isExclusive() ? space.presence() : spaces.presence(space);
    }

    /** A copy of the presence map that an earlier use of this snapshot has kept; empty for other spaces. */
    public Optional<PresenceMap> keptPresence() {
        return space.presenceMap().map(PresenceMap::copy);
    }

    /** Keeps a copy of the presence map that the homes have, if this is a snapshot, which no node changes. */
    public void keepPresence(PresenceMap map) {
        space.keep(map.copy());
    }

    /**
     * Says which presence map is right from now on: one that this exclusive use has written, or none, before it writes
     * to the pages of the guest. The coordinator learns it when the agent detaches.
     */
    public void presence(Optional<String> mark) {
        space.presence(mark);
    }

    /**
     * Says that this node writes to the space, before it does.
     *
     * @throws CoordinatorException if the coordinator does not know it; nothing must be written then
     */
    public void write() throws CoordinatorException {
        spaces.write(space);
    }

    /**
     * Requests room for the extent of a page, unless the extent has room. This node calls it before it writes to the
     * page, which is one of the guest's or one behind them.
     *
     * @throws CoordinatorException if there is none, or the coordinator does not answer
     */
    public void allocate(long page) throws CoordinatorException {
        spaces.allocations().allocate(space, page);
    }

    /**
     * Gives the room of extents of this exclusive use back, all or none. No transfer reaches them in these epochs.
     *
     * @throws CoordinatorException also if it may have been given back
     */
    public void deallocate(List<ExtentEpoch> extents) throws CoordinatorException {
        spaces.allocations().deallocate(space, extents);
    }

    /** Gives the room of extents of this exclusive use back whose pages are all zeros in a map. */
    public void deallocate(PresenceMap homes) throws CoordinatorException {
        spaces.allocations().deallocate(space, homes);
    }

    /** Whether pages of the guest wait for room at homes, and stay in its memory meanwhile. */
    public boolean isRoomless() {
        return space.isRoomless();
    }

    /** The latest map of the space; of a clone, with the homes of its snapshot for the pages that it has none for. */
    public SpaceMap map() {
        return map.get();
    }

    /** Why the space is torn, that is, holds older beside newer pages; empty if it is not. */
    public Optional<Torn> torn() {
        return space.tornBefore();
    }

    /**
     * Why this exclusive use was revoked, if it was: the map has lost all its pages, and the homes wait for
     * {@link #cutOff}. A clause for people.
     */
    public Optional<String> revocation() {
        return space.revocation();
    }

    /** Whether the space was deleted under this exclusive use, or taken over by another node. */
    public boolean isRevoked() {
        return revocation().isPresent();
    }

    /** Runs a task when this exclusive use is revoked, on the thread that learns of it. The task must not wait. */
    public void whenRevoked(Runnable task) {
        space.whenRevoked(task);
    }

    /**
     * Runs a task when this agent has detached from the space of this exclusive use, on the thread that detaches and
     * before another use begins; at once if it has. The task must not wait for long.
     */
    public void whenDetached(Runnable task) {
        space.whenDetached(task);
    }

    /**
     * Passes on the extents of the space, now and whenever others come, before this use sees them. The receiver must
     * not wait.
     */
    public void onExtents(Consumer<SpaceExtents> receiver) {
        space.onExtents(receiver);
    }

    /** Reports that this use has no transfer under way and will start none. The use itself continues. */
    public void cutOff() {
        space.cutOff();
        spaces.useEnded();
    }

    /** Reports why not all pages of this exclusive use are at their homes: the space is torn once it is detached. */
    public void tear(String reason) {
        space.tear(reason);
    }

    /** Reports that this exclusive use has written all pages. Detaching makes the space a snapshot. */
    public void loaded() {
        space.loaded();
    }

    /** Id of this agent's attachment, by which the homes of a coherent space know it. */
    public long attachment() {
        return space.attachment();
    }

    /** The space as the coordinator described it when this agent attached to it, or since. */
    public Space space() {
        return space.extents().space();
    }

    /**
     * Reports where this exclusive use of an encrypted space has left the tags of its pages: the coordinator learns of
     * it when the agent detaches.
     */
    public void seal(String mark) {
        space.seal(mark);
    }

    /** Ends the use. Call it when no transfer of it is under way. Closing twice does nothing. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            if (isBeside) {
                space.exitBeside();
            } else {
                space.exit();
            }
            base.ifPresent(SpaceUse::close);
            spaces.useEnded();
        }
    }
}
