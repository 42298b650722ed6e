package io.farpage.verbs;

import java.util.List;

/** What a provider found when it probed whether it can work on this machine. */
public sealed interface Availability {
    /**
     * At least one device is usable.
     *
     * @param devices names of the usable devices, best first
     */
    record Available(List<String> devices) implements Availability {
        public Available {
            devices = List.copyOf(devices);
        }
    }

    /**
     * No device is usable.
     *
     * @param reason what is wrong
     * @param detail what was seen, one line
     * @param fix what to do about it, one line
     */
    record Unavailable(Reason reason, String detail, String fix) implements Availability {
        @Override
        public String toString() {
            return detail + "; " + fix;
        }
    }

    /** The distinct reasons why no device is usable. */
    enum Reason {
        NO_LIBRARY,
        MISSING_SYMBOL,
        NATIVE_ACCESS_DENIED,
        NO_DEVICE,
        /** The device has no reliable connections (RC) that queue pairs alone can make. */
        NOT_RC,
        PORT_NOT_ACTIVE,
        NO_USABLE_GID,
        MEMLOCK_TOO_SMALL,
        PERMISSION_DENIED,
        DEVICE_FAILED
    }
}
