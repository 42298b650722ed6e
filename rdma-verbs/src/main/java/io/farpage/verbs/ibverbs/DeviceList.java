package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The library's list of devices (ibv_get_device_list(3)): name to {@code struct ibv_device}, valid until it is closed.
 */
final class DeviceList implements AutoCloseable {
    private static final long NAME_MAX = 64;

    private final LibIbverbs library;
    private final long list;
    private final Map<String, Long> devices = new LinkedHashMap<>();

    /** Lists the devices; none if the library finds none, or fails. */
    DeviceList(LibIbverbs library) {
        this.library = library;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            this.list = library.getDeviceList(Errno.create(), count);
            if (list == 0) {
                return;
            }
            // SAFETY: the library returned an array of count pointers, each to a device with a NUL-terminated name
            // within it.
            MemorySegment pointers = Native.at(list, (long) count.get(JAVA_INT, 0) * JAVA_LONG.byteSize());
            for (int i = 0; i < count.get(JAVA_INT, 0); i++) {
                long device = pointers.getAtIndex(JAVA_LONG, i);
                devices.put(Native.at(library.getDeviceName(device), NAME_MAX).getString(0), device);
            }
        }
    }

    OptionalLong find(String name) {
        Long device = devices.get(name);
        return device == null ? OptionalLong.empty() : OptionalLong.of(device);
    }

    @Override
    public void close() {
        if (list != 0) {
            library.freeDeviceList(list);
        }
    }
}
