package io.farpage.it.simulation.verbs;

import java.util.List;

/** The frames that a process exports: what they hold, and which keys reach them. */
public interface ExportedFrames {
    /** The first byte within a range that is not zero; -1 if all are. */
    long firstByteOf(long offset, long length);

    /** The keys by which other nodes reach a range, of memory that was registered before a moment; in words. */
    List<String> keysTo(long offset, long length, long registeredBefore);
}
