package io.farpage.coordinator.store;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A process that commits until it is killed, and prints the number of each commit once it is acknowledged. */
final class StoreWriter {

    static final int KEYS = 100;

    private StoreWriter() {}

    public static void main(String[] args) {
        try (Store store = MvStore.open(Path.of(args[0]))) {
            for (long n = last(store) + 1; ; n++) {
                String text = Long.toString(n);
                String key = Long.toString(n % KEYS);
                store.commit(List.of(
                        new Change(Table.NODES, key, Optional.of(text)),
                        new Change(Table.SPACES, key, Optional.of(text)),
                        new Change(Table.COUNTERS, "last", Optional.of(text))));
                System.out.print(text + "\n");
                System.out.flush();
            }
        }
    }

    static long last(Store store) {
        return Long.parseLong(store.rows(Table.COUNTERS).getOrDefault("last", "0"));
    }
}
