package io.farpage.coordinator.etcd;

import io.farpage.config.Config;
import io.farpage.coordinator.Settings;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Elections;
import java.net.URI;

/** Connects a coordinator to etcd; found by {@link java.util.ServiceLoader}. */
public final class EtcdElections implements Elections {

    /** Creates it. */
    public EtcdElections() {}

    @Override
    public Candidacy open(Config config, URI own) {
        Etcd etcd = new Etcd(
                Connections.open(config), config.get(Settings.ETCD_PREFIX), config.get(Settings.ETCD_DEADLINE));
        return new EtcdCandidacy(etcd, own, config.get(Settings.ETCD_LEASE));
    }
}
