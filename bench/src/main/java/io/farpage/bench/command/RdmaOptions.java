package io.farpage.bench.command;

import io.farpage.bench.baseline.RdmaPort;
import io.farpage.bench.command.RunOptions.Transport;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that choose an RDMA device, as given. */
public final class RdmaOptions {
    @Option(names = "--device", paramLabel = "NAME", description = "RDMA device of all agents; needs --transport rdma")
    private @Nullable String device;

    @Option(
            names = "--gid-index",
            description = "Index of the GID that the device uses; needs --device (default: the agents choose)")
    private @Nullable Integer gidIndex;

    /**
     * The device; empty if it is left to the agents.
     *
     * @throws IllegalArgumentException naming the option, the value and what is allowed
     */
    public Optional<RdmaPort> port(Transport transport) {
        Integer index = gidIndex;
        Plan.require(index == null || device != null, "--gid-index " + index + ": is of a device; add --device NAME");
        Plan.require(index == null || index >= 0, "--gid-index " + index + ": must be 0 or more");
        Plan.require(
                device == null || transport == Transport.RDMA,
                "--device " + device + ": is for --transport rdma, and the transport is " + transport.label());
        return Optional.ofNullable(device)
                .map(name -> new RdmaPort(name, index == null ? OptionalInt.empty() : OptionalInt.of(index)));
    }
}
