package io.farpage.coordinator.etcd;

import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.Store;
import java.time.Duration;

/** The term of a leader: its lease, and the store whose commits compare its key of the election. */
final class EtcdTerm implements Term {

    private final EtcdLease lease;
    private final Store store;
    private final long number;

    private EtcdTerm(EtcdLease lease, Store store, long number) {
        this.lease = lease;
        this.store = store;
        this.number = number;
    }

    static EtcdTerm begin(Etcd etcd, EtcdLease lease, KeyValue leader) {
        long number = leader.getCreateRevision();
        Cmp leads = new Cmp(leader.getKey(), Cmp.Op.EQUAL, CmpTarget.createRevision(number));
        return new EtcdTerm(lease, EtcdStore.open(etcd, new EtcdStore.Lead(leads, lease::end)), number);
    }

    @Override
    public Store store() {
        return store;
    }

    @Override
    public long number() {
        return number;
    }

    @Override
    public boolean holds() {
        return lease.holds();
    }

    @Override
    public boolean awaitEnd(Duration longest) throws InterruptedException {
        return lease.awaitEnd(longest);
    }

    @Override
    public void close() {
        lease.close();
    }
}
