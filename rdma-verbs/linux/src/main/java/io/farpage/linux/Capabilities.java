package io.farpage.linux;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Capabilities of a process (capabilities(7)), as procfs has them. */
public final class Capabilities {
    private static final Pattern EFFECTIVE = Pattern.compile("(?m)^CapEff:\\s*([0-9a-f]+)$");
    /** user_namespaces(7): all ids are mapped to themselves. */
    private static final Pattern IDENTITY = Pattern.compile("0\\s+0\\s+4294967295");

    private Capabilities() {}

    /**
     * Whether a process has a capability where the kernel asks for it in the initial user namespace, as it does for
     * real-time priorities and locked memory. The capabilities that another user namespace gives, in a container for
     * one, do not count there.
     *
     * @param number of the capability
     * @param status {@code /proc/PID/status}
     * @param uidMap {@code /proc/PID/uid_map}; empty on a kernel without user namespaces
     */
    public static boolean isEffective(int number, String status, Optional<String> uidMap) {
        Matcher effective = EFFECTIVE.matcher(status);
        boolean has = effective.find() && ((Long.parseUnsignedLong(effective.group(1), 16) >>> number) & 1) == 1;
        return has && uidMap.map(map -> IDENTITY.matcher(map.strip()).matches()).orElse(true);
    }
}
