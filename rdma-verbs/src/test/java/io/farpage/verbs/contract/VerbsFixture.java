package io.farpage.verbs.contract;

import io.farpage.verbs.Device;
import io.farpage.verbs.VerbsProvider;
import io.farpage.verbs.WcStatus;
import java.util.EnumSet;
import java.util.Set;

/**
 * The two devices that a contract test runs between. They may be the same physical device opened twice.
 *
 * <p>A provider that has no device here throws {@code TestAbortedException} (a JUnit assumption) with the reason from
 * its {@link Source}.
 */
public interface VerbsFixture extends AutoCloseable {
    /** Side A: where most tests act. */
    Device a();

    /** Side B: the peer. */
    Device b();

    /**
     * Class of the provider that another process opens side B's device with; it must have a constructor without
     * parameters.
     */
    Class<? extends VerbsProvider> provider();

    /** Name of the device that another process opens. */
    default String childDevice() {
        return b().name();
    }

    /**
     * Whether registering memory makes all of it resident, so that tests must not register more than the machine has.
     */
    default boolean pinsMemory() {
        return false;
    }

    /**
     * What these devices may report where the specification says {@code specified}; a fixture of devices known to
     * deviate says how.
     */
    default Set<WcStatus> reported(WcStatus specified) {
        return EnumSet.of(specified);
    }

    /**
     * Whether an answer that is on its way when a later work request fails locally still counts. SoftRoCE of Linux 6.1
     * drops it: its requester leaves the ready state first, and no completion comes of the work request that was
     * answered.
     */
    default boolean takesAnswersAfterALocalError() {
        return true;
    }

    /** Closes both devices; the test has closed everything that came from them. */
    @Override
    void close();

    /** Opens the devices for one test. */
    @FunctionalInterface
    interface Source {
        VerbsFixture open();
    }
}
