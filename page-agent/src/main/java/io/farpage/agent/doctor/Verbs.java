package io.farpage.agent.doctor;

import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What the provider that the agent would use found.
 *
 * @param ports of each usable device the port that was chosen, by the device's name
 */
record Verbs(Availability availability, Map<String, PortAttributes> ports) {
    /** Asks {@code provider} and opens each device it offers for a moment: no file tells a port's active MTU. */
    static Verbs probe(VerbsProvider provider) {
        Availability availability = provider.probe();
        Map<String, PortAttributes> ports = new TreeMap<>();
        if (availability instanceof Availability.Available(List<String> devices)) {
            for (String name : devices) {
                try (Device device = provider.open(name)) {
                    ports.put(name, device.queryPort());
                } catch (VerbsException e) {
                    // It went away since it was found; the files tell of that.
                    ports.remove(name);
                }
            }
        }
        return new Verbs(availability, Map.copyOf(ports));
    }
}
