package io.farpage.it.simulation.verbs;

import java.util.List;

/** The frames that a process exports: what they hold, and which keys reach them. */
public interface ExportedFrames {
    /** The first byte within a range that is not zero; -1 if all are. */
    long firstByteOf(long offset, long length);

    /** The first page within a range that ends with the number that it begins with, which is not 0; -1 if none does. */
    long firstPlainPageOf(long offset, long length);

    /** The keys by which other nodes reach them, of memory that was registered before a moment. */
    List<Key> keys(long registeredBefore);

    /**
     * A key to a range.
     *
     * @param by the thread that registered it
     */
    record Key(long offset, long length, long since, String by) {
        /** Whether it reaches a byte of a range. */
        public boolean reaches(long from, long bytes) {
            return offset < from + bytes && from < offset + length;
        }
    }
}
