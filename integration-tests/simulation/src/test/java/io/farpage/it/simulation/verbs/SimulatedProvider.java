package io.farpage.it.simulation.verbs;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.VerbsProvider;
import java.util.List;
import java.util.Set;

/**
 * Verbs over a simulated network. Its one device is served by its process: while that stands still it answers nothing.
 */
public final class SimulatedProvider implements VerbsProvider {
    private static final String DEVICE = "soft0";

    private final Fabric fabric;

    public SimulatedProvider(Fabric fabric) {
        this.fabric = fabric;
    }

    @Override
    public String name() {
        return "soft";
    }

    @Override
    public List<String> present() {
        return List.of(DEVICE);
    }

    @Override
    public Availability probe(Set<String> except) {
        return new Availability.Available(List.of(DEVICE));
    }

    @Override
    public Device open(String device) {
        SimulatedDevice opened =
                new SimulatedDevice(device, fabric, Engine.get().running());
        fabric.add(opened);
        return opened;
    }
}
