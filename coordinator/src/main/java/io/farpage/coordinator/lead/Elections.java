package io.farpage.coordinator.lead;

import io.farpage.config.Config;
import io.farpage.coordinator.access.AccessRecords;
import java.net.URI;

/** Opens the shared store that a configuration names. Implementations have a public constructor without parameters. */
public interface Elections {

    /**
     * Connects to the shared store.
     *
     * @param own URL at which clients reach this coordinator while it leads
     * @throws io.farpage.coordinator.store.StoreException if the configuration cannot be used
     */
    Candidacy open(Config config, URI own);

    /**
     * Connects to the tokens that all coordinators of the shared store have.
     *
     * @throws io.farpage.coordinator.store.StoreException if the configuration cannot be used
     */
    AccessRecords access(Config config);
}
