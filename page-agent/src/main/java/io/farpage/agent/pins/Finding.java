package io.farpage.agent.pins;

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
        /** Descriptors came and went meanwhile, so that one may have been missed. */
        CHANGING,
        /** The process is gone. */
        GONE
    }

    boolean isClear() {
        return kind == Kind.CLEAR || kind == Kind.EMPTY;
    }

    /** Whether memory may be pinned. */
    boolean mayPin() {
        return kind == Kind.DIRECT_IO || kind == Kind.LASTING || kind == Kind.UNREADABLE;
    }
}
