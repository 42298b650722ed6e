package io.farpage.agent.control.pins;

/**
 * What an inspection found.
 *
 * @param detail which descriptor of which process it is, or what is in the way; empty if nothing was found
 */
record Finding(Kind kind, String detail) {
    /** Nothing that may pin memory. */
    static final Finding CLEAR = new Finding(Kind.CLEAR, "");

    /** No descriptors at all: the table is that of a task that ends, or of a thread of the kernel. */
    static final Finding EMPTY = new Finding(Kind.EMPTY, "");

    /** Outcomes. */
    enum Kind {
        CLEAR,
        EMPTY,
        /** Something that pins pages for as long as a read or a write takes. */
        DIRECT_IO,
        /** Something that may pin pages for long, also for reading alone. */
        LASTING,
        /** The descriptors cannot be read. */
        UNREADABLE,
        /** An io_uring is locked, so that what it has registered cannot be seen; apart from that nothing was found. */
        BUSY,
        /** Descriptors came and went meanwhile, so that one may have been missed. */
        CHANGING,
        /** The process is gone. */
        GONE
    }

    boolean isClear() {
        return kind == Kind.CLEAR || kind == Kind.EMPTY;
    }

    /** Whether nothing was found, but for locked rings: what those have registered is told by when they were seen idle. */
    boolean isClearOrBusy() {
        return isClear() || kind == Kind.BUSY;
    }

    /** Whether memory may be pinned. */
    boolean mayPin() {
        return kind == Kind.DIRECT_IO || kind == Kind.LASTING || kind == Kind.UNREADABLE;
    }
}
