package io.farpage.agent.control.keeper;

/**
 * The version of all that an agent leaves at its keeper: the pool's file, and the records, tables and messages of
 * guests. An agent reads the formats from 1 up to its own, and writes its own. The keeper gives what is kept to no
 * agent that does not know the format.
 */
public final class KeptFormat {
    /** What this version writes. Raise it with every change that the version before would misread. */
    public static final int VERSION = 1;

    /** Format of a process that drops what is kept and reads none of it. */
    static final long ANY = Integer.MAX_VALUE;

    private KeptFormat() {}

    /** The format that a message names. Agents from before formats had numbers name none, and write format 1. */
    static long named(long value) {
        return Math.max(1, value);
    }
}
