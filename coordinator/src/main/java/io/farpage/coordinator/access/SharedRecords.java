package io.farpage.coordinator.access;

import java.util.List;
import java.util.function.Function;

/**
 * A list of records that running coordinators and commands beside them read and change. Thread-safe.
 *
 * @param <T> a record that Jackson reads and writes
 */
public interface SharedRecords<T> {

    /**
     * What a change makes of the records, and what it answers.
     *
     * @param records all of them, after the change
     * @param result what {@link #change} returns
     */
    record Change<T, R>(List<T> records, R result) {}

    /**
     * The records now, or those of a moment ago if they are in a store that is asked over the network.
     *
     * @throws RuntimeException that names the place, if they cannot be read
     */
    List<T> read();

    /**
     * Changes the records, after those of all other processes. An exception of the change leaves them as they are.
     *
     * @param change is called once or, if another process changes the records at the same time, several times
     * @throws RuntimeException that names the place, if they cannot be changed
     */
    <R> R change(Function<List<T>, Change<T, R>> change);
}
