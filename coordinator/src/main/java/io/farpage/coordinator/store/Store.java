package io.farpage.coordinator.store;

import java.util.List;
import java.util.Map;

/** Tables of rows that outlive the process. One writer at a time; the caller sees to that. */
public interface Store extends AutoCloseable {

    /**
     * All rows of a table by key.
     *
     * @throws StoreException if they cannot be read
     */
    Map<String, String> rows(Table table);

    /** Bytes that the longest row may have, as UTF-8. A commit with a longer one throws as if the store had failed. */
    default int longestRow() {
        return Integer.MAX_VALUE;
    }

    /** Grows by one with each commit, also with one without changes. A new store may begin above zero. */
    long revision();

    /**
     * Makes all changes or none. They are durable when this method returns. The last of several changes of a row
     * counts. The deletion of a missing row changes nothing.
     *
     * @throws StoreException if they could not be made durable; {@link #recover} then says whether they were
     */
    void commit(List<Change> changes);

    /**
     * Makes the store usable again after a commit threw. What {@link #revision} says afterwards tells whether that
     * commit took effect.
     *
     * @throws StoreException if the store cannot be used yet
     */
    void recover();

    /** Ends it; commits need no closing to be durable. */
    @Override
    void close();
}
