package io.farpage.pool.header;

/** A header page that must not be trusted; the message names what it holds and what was expected. */
public final class PoolHeaderException extends Exception {
    private static final long serialVersionUID = 1L;

    private final Refusal refusal;

    PoolHeaderException(Refusal refusal, String message) {
        super(message);
        this.refusal = refusal;
    }

    /** What is wrong, for code to branch on. */
    public Refusal refusal() {
        return refusal;
    }

    /** What can be wrong with a header page, in the order in which it is looked for. */
    public enum Refusal {
        /** Fewer bytes than a header has. */
        LENGTH,
        /** Not a pool's header at all. */
        MAGIC,
        /** Written in a format this build does not know. */
        VERSION,
        /** Damaged, or read while it was being written. */
        CHECKSUM,
        /** A field holds what it never may, though the checksum is right. */
        CONTENT,
        /** The pool of another node. */
        NODE_ID,
        /** The right node, but not the start of it that was expected. */
        INCARNATION,
        /** The right start of the agent with another pool. */
        POOL
    }
}
