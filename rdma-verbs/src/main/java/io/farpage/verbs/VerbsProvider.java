package io.farpage.verbs;

/** An implementation of verbs. */
public interface VerbsProvider {
    /** {@code ibverbs} or {@code soft}. */
    String name();

    /** Probes whether this provider can work on this machine, and with what. Never throws for what it finds. */
    Availability probe();

    /**
     * Opens a device.
     *
     * @param device name, one of those that {@link #probe()} found usable
     * @throws VerbsException naming the reason and the fix
     */
    Device open(String device);
}
