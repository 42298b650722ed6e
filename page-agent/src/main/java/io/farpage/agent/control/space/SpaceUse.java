package io.farpage.agent.control.space;

import io.farpage.agent.data.pager.SpaceMap;
import io.farpage.coordinator.model.Torn;
import java.util.Optional;

/** A space in use: its pages may be read and written until this is closed. */
public final class SpaceUse implements AutoCloseable {
    private final AttachedSpace space;
    private final Spaces spaces;
    private boolean closed;

    SpaceUse(AttachedSpace space, Spaces spaces) {
        this.space = space;
        this.spaces = spaces;
    }

    /** Where the pages live, as far as this agent knows now. */
    public SpaceMap map() {
        return space.map();
    }

    /** Why the space holds older and newer pages, if it does. */
    public Optional<Torn> torn() {
        return space.tornBefore();
    }

    /** Whether the space was deleted under this exclusive use: the map has lost all its pages, and the homes wait for {@link #cutOff}. */
    public boolean isRevoked() {
        return space.isRevoked();
    }

    /** Runs a task when this exclusive use is revoked, on the thread that learns of it. The task must not wait. */
    public void whenRevoked(Runnable task) {
        space.whenRevoked(task);
    }

    /** Says that nothing of this use is under way at the homes and that nothing will be. The use itself goes on. */
    public void cutOff() {
        space.cutOff();
        spaces.useEnded();
    }

    /** Says why not all pages of this exclusive use are at their homes: the space is torn once it is detached. */
    public void tear(String reason) {
        space.tear(reason);
    }

    /** Ends the use: nothing of this user's is under way any more. Closing twice does nothing. */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            space.exit();
            spaces.useEnded();
        }
    }
}
