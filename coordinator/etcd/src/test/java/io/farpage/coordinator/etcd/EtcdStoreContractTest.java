package io.farpage.coordinator.etcd;

import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreContract;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class EtcdStoreContractTest extends StoreContract {

    private static final Duration DEADLINE = Duration.ofSeconds(20);

    private Optional<EtcdMember> member = Optional.empty();
    private Optional<Members> members = Optional.empty();
    private String prefix = "";

    @BeforeAll
    void startEtcd(@TempDir Path directory) {
        EtcdMember started = EtcdMember.start(directory);
        member = Optional.of(started);
        members = Optional.of(started.members());
    }

    @AfterAll
    void endEtcd() {
        members.ifPresent(Members::close);
        member.ifPresent(EtcdMember::close);
    }

    @Override
    protected Store open() {
        prefix = "/test-" + UUID.randomUUID();
        return reopened();
    }

    @Override
    protected Store reopen(Store store) {
        store.close();
        return reopened();
    }

    private Store reopened() {
        Etcd etcd = new Etcd(members.orElseThrow(), prefix, DEADLINE);
        Cmp always = new Cmp(etcd.key("never-written"), Cmp.Op.EQUAL, CmpTarget.version(0));
        return EtcdStore.open(etcd, new EtcdStore.Lead(always, () -> {}));
    }
}
