package io.farpage.coordinator.etcd;

import io.etcd.jetcd.Client;
import io.farpage.config.Config;
import io.farpage.coordinator.Settings;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Elections;
import io.farpage.coordinator.store.StoreException;
import java.net.URI;
import java.util.List;

/** Connects a coordinator to etcd; found by {@link java.util.ServiceLoader}. */
public final class EtcdElections implements Elections {

    /** Creates it. */
    public EtcdElections() {}

    @Override
    public Candidacy open(Config config, URI own) {
        List<String> endpoints = config.get(Settings.ETCD_ENDPOINTS);
        for (String endpoint : endpoints) {
            if (!endpoint.matches("http://[^/\\s]+")) {
                throw new StoreException(
                        "store.etcd.endpoints: '%s' is not valid: it must be http://host:port".formatted(endpoint));
            }
        }
        Client client = Client.builder()
                .endpoints(endpoints.toArray(String[]::new))
                .maxInboundMessageSize(Etcd.MAX_MESSAGE)
                .connectTimeout(config.get(Settings.ETCD_DEADLINE))
                .build();
        Etcd etcd = new Etcd(client, config.get(Settings.ETCD_PREFIX), config.get(Settings.ETCD_DEADLINE));
        return new EtcdCandidacy(etcd, own, config.get(Settings.ETCD_LEASE));
    }
}
