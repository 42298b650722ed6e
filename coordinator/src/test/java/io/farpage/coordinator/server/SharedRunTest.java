package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.Store;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SharedRunTest {

    /** A term that holds for some waits, or until it is closed. */
    private static final class Waits implements Term {
        private final int most;
        private int waited;
        private boolean closed;

        Waits(int most) {
            this.most = most;
        }

        @Override
        public Store store() {
            throw new UnsupportedOperationException();
        }

        @Override
        public long number() {
            return 1;
        }

        @Override
        public boolean holds() {
            return !closed && waited < most;
        }

        @Override
        public boolean awaitEnd(Duration longest) {
            waited++;
            return !holds();
        }

        @Override
        public void close() {
            closed = true;
        }
    }

    @Test
    void shouldGiveUpTheLeadWhenTheLoopStandsStill() throws InterruptedException {
        Waits term = new Waits(1_000);
        AtomicInteger asked = new AtomicInteger();
        SharedRun.awaitEnd(
                term, () -> asked.incrementAndGet() < 3 ? Optional.empty() : Optional.of("the check of leases"));
        assertTrue(term.closed);
        assertEquals(3, term.waited);
    }

    @Test
    void shouldLeadUntilTheEndOfItsTermWhileTheLoopGoesOn() throws InterruptedException {
        Waits term = new Waits(5);
        SharedRun.awaitEnd(term, Optional::empty);
        assertFalse(term.closed);
        assertEquals(5, term.waited);
    }
}
