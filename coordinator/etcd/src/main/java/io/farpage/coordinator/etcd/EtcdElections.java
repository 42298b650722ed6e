package io.farpage.coordinator.etcd;

import io.farpage.config.Config;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Elections;
import java.net.URI;

/** Connects a coordinator to etcd; found by {@link java.util.ServiceLoader}. */
public final class EtcdElections implements Elections {

    /** Creates it. */
    public EtcdElections() {}

    @Override
    public Candidacy open(Config config, URI own) {
        return new EtcdCandidacy(etcd(config), own, config.get(Settings.ETCD_LEASE));
    }

    @Override
    public AccessRecords access(Config config) {
        return new EtcdAccess(etcd(config));
    }

    private static Etcd etcd(Config config) {
        return new Etcd(Connections.open(config), config.get(Settings.ETCD_PREFIX), config.get(Settings.ETCD_DEADLINE));
    }
}
