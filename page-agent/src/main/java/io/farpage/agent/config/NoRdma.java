package io.farpage.agent.config;

import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import java.util.List;
import java.util.Set;

/** RDMA for an agent whose links must be encrypted: none, since no RDMA device encrypts what it sends. */
final class NoRdma implements VerbsProvider {
    @Override
    public String name() {
        return "ibverbs";
    }

    @Override
    public List<String> present() {
        return List.of();
    }

    @Override
    public Availability probe(Set<String> except) {
        return new Availability.Unavailable(
                Availability.Reason.NO_DEVICE,
                "link.encryption is require, and RDMA devices do not encrypt",
                "set link.encryption to off to use RDMA, and encrypt spaces instead");
    }

    @Override
    public Device open(String device) {
        throw new VerbsException("open " + device + ": " + probe());
    }
}
