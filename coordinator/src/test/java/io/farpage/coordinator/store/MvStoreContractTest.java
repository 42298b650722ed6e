package io.farpage.coordinator.store;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

class MvStoreContractTest extends StoreContract {

    @TempDir
    private Path directory = Path.of("");

    @Override
    protected Store open() {
        return MvStore.open(directory);
    }

    @Override
    protected Store reopen(Store store) {
        store.close();
        return MvStore.open(directory);
    }
}
