package io.farpage.verbs.ibverbs;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * What to use of the devices that a host has. Everything has a value that needs no thought: {@link #DEFAULT}.
 *
 * @param library the library to load instead of {@code libibverbs.so.1}
 * @param devices names of the devices that may be used; empty for all
 * @param port port number, from 1; empty for the first that is ACTIVE
 * @param gidIndex index in the port's GID table; empty for the best: RoCE v2 over IPv4 first
 * @param pinnedBytes how much memory will be registered, compared to RLIMIT_MEMLOCK; 0 if that is not known
 */
public record IbvOptions(
        Optional<Path> library, Set<String> devices, OptionalInt port, OptionalInt gidIndex, long pinnedBytes) {

    /** Any device, its first active port, its best GID. */
    public static final IbvOptions DEFAULT =
            new IbvOptions(Optional.empty(), Set.of(), OptionalInt.empty(), OptionalInt.empty(), 0);

    public IbvOptions {
        devices = Set.copyOf(devices);
        port.ifPresent(value -> requireRange("port", value, 1));
        gidIndex.ifPresent(value -> requireRange("gid_index", value, 0));
        if (pinnedBytes < 0) {
            throw new IllegalArgumentException("pinned bytes " + pinnedBytes + " are negative");
        }
    }

    private static void requireRange(String name, int value, int low) {
        // Both are a uint8_t in struct ibv_qp_attr.
        if (value < low || value > 255) {
            throw new IllegalArgumentException(name + " " + value + " is not within " + low + "..255");
        }
    }

    public IbvOptions withLibrary(Path newLibrary) {
        return new IbvOptions(Optional.of(newLibrary), devices, port, gidIndex, pinnedBytes);
    }

    public IbvOptions withDevices(Set<String> newDevices) {
        return new IbvOptions(library, newDevices, port, gidIndex, pinnedBytes);
    }

    public IbvOptions withPort(int newPort) {
        return new IbvOptions(library, devices, OptionalInt.of(newPort), gidIndex, pinnedBytes);
    }

    public IbvOptions withGidIndex(int newGidIndex) {
        return new IbvOptions(library, devices, port, OptionalInt.of(newGidIndex), pinnedBytes);
    }

    public IbvOptions withPinnedBytes(long newPinnedBytes) {
        return new IbvOptions(library, devices, port, gidIndex, newPinnedBytes);
    }
}
