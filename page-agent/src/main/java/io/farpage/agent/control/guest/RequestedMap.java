package io.farpage.agent.control.guest;

import io.farpage.coordinator.model.PageMap;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/**
 * Where the pages of a guest are, counted when that is asked for. The guest's thread counts, which also closes the
 * pagers: so a page table that is counted is not closed meanwhile, and no thread that moves pages waits.
 */
final class RequestedMap {
    private final AtomicReference<Optional<PageMap>> made = new AtomicReference<>(Optional.empty());
    private volatile boolean requested;

    /** Requests a page map. The guest's thread counts it at its next probe. Any thread. */
    void request() {
        requested = true;
    }

    /** Makes a map if one was requested. The guest's thread. */
    void makeIfRequested(Supplier<PageMap> counting) {
        if (requested) {
            requested = false;
            made.set(Optional.of(counting.get()));
        }
    }

    /** The map that was made since the last call, if any. Any thread. */
    Optional<PageMap> take() {
        return made.getAndSet(Optional.empty());
    }
}
