package io.farpage.coordinator.cluster;

import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreContract;

/** The store that other tests run on does what the others do. */
class MemoryStoreContractTest extends StoreContract {

    @Override
    protected Store open() {
        return new MemoryStore();
    }

    @Override
    protected Store reopen(Store store) {
        store.close();
        return store;
    }
}
