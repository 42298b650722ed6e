package io.farpage.bench.baseline;

import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;

/**
 * The RDMA device that agents, and what they are compared with, are told to use, and the index of its GID if it is not
 * left to them.
 */
public record RdmaPort(String device, OptionalInt gidIndex) {
    /** The settings of an agent that uses it. */
    public Map<String, String> settings() {
        Map<String, String> settings = new HashMap<>(Map.of("rdma.device", device));
        gidIndex.ifPresent(index -> settings.put("rdma.gid_index", Integer.toString(index)));
        return settings;
    }
}
