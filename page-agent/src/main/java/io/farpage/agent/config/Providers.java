package io.farpage.agent.config;

import io.farpage.config.Config;
import io.farpage.verbs.VerbsProvider;
import io.farpage.verbs.ibverbs.IbvOptions;
import io.farpage.verbs.ibverbs.IbverbsProvider;
import io.farpage.verbs.soft.SoftProvider;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/**
 * The providers that an agent asks for devices.
 *
 * @param rdma provides RDMA devices
 * @param tcp provides the fallback
 */
public record Providers(VerbsProvider rdma, VerbsProvider tcp) {
    /** Both, as configured. */
    public static Providers of(Config config) {
        VerbsProvider rdma = AgentOptions.requiresEncryption(config) ? new NoRdma() : rdma(config);
        return new Providers(rdma, tcp(config));
    }

    /** RDMA devices through libibverbs, as configured. */
    public static VerbsProvider rdma(Config config) {
        IbvOptions options = IbvOptions.DEFAULT
                .withDevices(Set.copyOf(config.get(AgentKeys.RDMA_DEVICE)))
                .withPinnedBytes(config.get(AgentKeys.POOL_EXPORTED) + config.get(AgentKeys.POOL_STAGING));
        Optional<Path> library = config.get(AgentKeys.RDMA_LIBRARY);
        Optional<Integer> port = config.get(AgentKeys.RDMA_PORT);
        Optional<Integer> gidIndex = config.get(AgentKeys.RDMA_GID_INDEX);
        options = library.isPresent() ? options.withLibrary(library.get()) : options;
        options = port.isPresent() ? options.withPort(port.get()) : options;
        options = gidIndex.isPresent() ? options.withGidIndex(gidIndex.get()) : options;
        return new IbverbsProvider(options);
    }

    /** The fallback over TCP, as configured. */
    public static VerbsProvider tcp(Config config) {
        return new SoftProvider(AgentOptions.soft(config));
    }
}
