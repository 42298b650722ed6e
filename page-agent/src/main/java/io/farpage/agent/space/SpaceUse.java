package io.farpage.agent.space;

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
