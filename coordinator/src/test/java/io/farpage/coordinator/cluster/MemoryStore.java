package io.farpage.coordinator.cluster;

import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A store in memory, whose commits can be made to fail as a full disk makes them, or to wait as for a disk that does
 * not answer.
 */
final class MemoryStore implements Store {

    private final Map<Table, Map<String, String>> tables = new EnumMap<>(Table.class);
    private volatile Optional<Throwable> failure = Optional.empty();
    private long revision;
    private volatile int longestRow = Integer.MAX_VALUE;
    private volatile CountDownLatch answers = new CountDownLatch(0);
    private final AtomicInteger begun = new AtomicInteger();

    void fill(boolean now) {
        failure = now ? Optional.of(new StoreException("the disk is full")) : Optional.empty();
    }

    void failWith(Throwable e) {
        failure = Optional.of(e);
    }

    /** Sets the most bytes of a row. */
    void limitRows(int bytes) {
        longestRow = bytes;
    }

    @Override
    public int longestRow() {
        return longestRow;
    }

    /** Commits wait until the latch is open. */
    void await(CountDownLatch latch) {
        answers = latch;
    }

    /** Commits that have begun. */
    int begun() {
        return begun.get();
    }

    @Override
    public Map<String, String> rows(Table table) {
        return new TreeMap<>(tables.getOrDefault(table, Map.of()));
    }

    @Override
    public long revision() {
        return revision;
    }

    @Override
    public void commit(List<Change> changes) {
        begun.incrementAndGet();
        try {
            answers.await();
        } catch (InterruptedException e) {
            throw new StoreException("interrupted", e);
        }
        if (failure.isPresent()) {
            switch (failure.get()) {
                case RuntimeException e -> throw e;
                case Error e -> throw e;
                case Throwable e -> throw new IllegalStateException(e);
            }
        }
        for (Change change : changes) {
            if (change.row().filter(row -> row.length() > longestRow).isPresent()) {
                throw new StoreException("row " + change.key() + " is too long");
            }
            Map<String, String> rows = tables.computeIfAbsent(change.table(), table -> new TreeMap<>());
            change.row().ifPresentOrElse(row -> rows.put(change.key(), row), () -> rows.remove(change.key()));
        }
        revision++;
    }

    @Override
    public void recover() {}

    @Override
    public void close() {}
}
