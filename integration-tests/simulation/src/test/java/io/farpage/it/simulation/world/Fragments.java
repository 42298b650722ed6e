package io.farpage.it.simulation.world;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.store.Table;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.SimulatedStore;
import java.util.ArrayList;
import java.util.List;

/** Gaps where new spaces are placed first, at the beginning of the pools. */
final class Fragments {
    /** Spaces without a guest that lie between the gaps of the pools, those included that leave the gaps. */
    private static final int SMALL_SPACES = 12;

    private Fragments() {}

    /** Leaves the gaps: every second small space goes. */
    static void leave(Scenario scenario, Engine engine) throws CoordinatorException {
        CoordinatorClient client = scenario.operator().client();
        List<Space> small = new ArrayList<>();
        for (int i = 1; i <= SMALL_SPACES; i++) {
            int pages = 24 + engine.random().nextInt(40);
            small.add(client.createSpace(SpaceRequest.of("s" + i, pages * 4096L).withReplicas(2)));
        }
        for (int i = 0; i < small.size(); i += 2) {
            client.deleteSpace(small.get(i).id());
        }
        scenario.await(
                "every second of the small spaces is gone",
                30,
                () -> scenario.operator().spaces() == SMALL_SPACES / 2
                        && SimulatedStore.describe(Table.RELEASES).isEmpty());
    }
}
