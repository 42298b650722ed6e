package io.farpage.coordinator.etcd;

import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.access.SharedRecords;

/** Tokens and join tokens in etcd, where all coordinators of a cluster and the commands on their hosts see the same. */
final class EtcdAccess implements AccessRecords {

    private final Etcd etcd;

    /** @param etcd whose members are closed with this */
    EtcdAccess(Etcd etcd) {
        this.etcd = etcd;
    }

    @Override
    public <T> SharedRecords<T> records(String name, Class<T[]> type) {
        return new EtcdRecords<>(etcd, "access/" + name, type, System::nanoTime);
    }

    @Override
    public void close() {
        etcd.members().close();
    }
}
