package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Locale;

/** What a queue pair runs over. */
public enum TransportKind {
    /** A device with RDMA in hardware or kernel, through libibverbs. */
    @JsonProperty("rdma")
    RDMA,
    /** The soft provider, over TCP. */
    @JsonProperty("tcp")
    TCP;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
