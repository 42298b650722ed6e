package io.farpage.agent.control.pins;

/**
 * The result of an inspection.
 *
 * @param detail the descriptor and its process, or what prevented the inspection; empty if nothing was found
 */
record Finding(Kind kind, String detail) {
    /** No descriptor that may pin memory. */
    static final Finding CLEAR = new Finding(Kind.CLEAR, "");

    /** No descriptors at all: the table is that of a task that ends, or of a thread of the kernel. */
    static final Finding EMPTY = new Finding(Kind.EMPTY, "");

    /** Outcomes. */
    enum Kind {
        CLEAR,
        EMPTY,
        /** A descriptor that pins pages for the time of a read or a write. */
        DIRECT_IO,
        /** A descriptor that may pin pages for long, also for reading alone. */
        LASTING,
        /** Another process maps the memory, and its faults are not served. */
        UNSERVED,
        /** The descriptors cannot be read. */
        UNREADABLE,
        /** An io_uring is locked, so that its registrations cannot be read; no other descriptor may pin memory. */
        BUSY,
        /** Descriptors came and went meanwhile, so that one may have been missed. */
        CHANGING,
        /** The process is gone. */
        GONE
    }

    boolean isClear() {
        return kind == Kind.CLEAR || kind == Kind.EMPTY;
    }

    /** Whether nothing was found except locked rings, which are judged by when they were last seen idle. */
    boolean isClearOrBusy() {
        return isClear() || kind == Kind.BUSY;
    }

    /** Whether memory may be pinned, or used past the agent in another way. */
    boolean mayPin() {
        return switch (kind) {
            case DIRECT_IO, LASTING, UNSERVED, UNREADABLE -> true;
            case CLEAR, EMPTY, BUSY, CHANGING, GONE -> false;
        };
    }
}
