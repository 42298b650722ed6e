package io.farpage.verbs;

import java.util.List;
import java.util.Set;

/** An implementation of verbs. */
public interface VerbsProvider {
    /** {@code ibverbs} or {@code soft}. */
    String name();

    /**
     * Names of the devices that are present and that this provider may open, usable or not. Opens none: it may be
     * called often.
     */
    List<String> present();

    /** Probes whether this provider can work on this machine, and with what. Never throws for what it finds. */
    default Availability probe() {
        return probe(Set.of());
    }

    /**
     * Probes as {@link #probe()}, but leaves out some devices.
     *
     * @param except names of devices that are not opened and not reported as usable
     */
    Availability probe(Set<String> except);

    /**
     * Opens a device.
     *
     * @param device name, one of those that {@link #probe()} found usable
     * @throws VerbsException naming the reason and the fix
     */
    Device open(String device);
}
