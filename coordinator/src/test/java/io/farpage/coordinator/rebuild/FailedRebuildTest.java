package io.farpage.coordinator.rebuild;

import static io.farpage.coordinator.rebuild.Reports.report;
import static io.farpage.coordinator.rebuild.Reports.space;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A rebuild whose store does not take the result. */
class FailedRebuildTest {

    /** A store whose next commit fails. */
    private static final class FailingOnce implements Store {
        private final Store store;
        private boolean fails = true;

        private FailingOnce(Store store) {
            this.store = store;
        }

        @Override
        public Map<String, String> rows(Table table) {
            return store.rows(table);
        }

        @Override
        public long revision() {
            return store.revision();
        }

        @Override
        public void commit(List<Change> changes) {
            if (fails) {
                fails = false;
                throw new StoreException("no space left on the device");
            }
            store.commit(changes);
        }

        @Override
        public void recover() {
            store.recover();
        }

        @Override
        public void close() {
            store.close();
        }
    }

    @Test
    void shouldFinishWhenAReportIsRepeatedAfterAFailedCommit(@TempDir Path directory) {
        try (Store store = MvStore.open(directory.resolve("store"))) {
            Rebuild rebuild = new Rebuild(new FailingOnce(store), Set.of("b"));
            NodeReport b = report("b", List.of(space(5, "vm", "b", 0, 8)));
            assertThrows(StoreException.class, () -> rebuild.report("b", b));
            assertFalse(rebuild.isFinished());
            assertTrue(rebuild.report("b", b).finished());
            assertTrue(new Ledger(store, 10, nanos -> {}).state().space("vm").isPresent());
        }
    }
}
