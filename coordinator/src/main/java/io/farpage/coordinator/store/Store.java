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

    /** The number of commits since the store was made. */
    long revision();

    /**
     * Makes all changes, or none if it throws. When it returns they are durable.
     *
     * @throws StoreException if they could not be made durable
     */
    void commit(List<Change> changes);

    /** Ends it; commits need no closing to be durable. */
    @Override
    void close();
}
