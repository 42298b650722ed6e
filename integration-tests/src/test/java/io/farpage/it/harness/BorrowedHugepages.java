package io.farpage.it.harness;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.pool.hugepages.HugepageReservation;
import io.farpage.pool.hugepages.HugepageReservation.Outcome;
import io.farpage.pool.hugepages.HugepageSize;

/** Hugepages of 2 MiB for guests of this test, given back to the system at its end. */
public final class BorrowedHugepages implements AutoCloseable {
    private final HugepageReservation reservation;

    private BorrowedHugepages(HugepageReservation reservation) {
        this.reservation = reservation;
    }

    /** Takes them, or skips the test, saying why. */
    public static BorrowedHugepages take(int pages) {
        HugepageReservation reservation = HugepageReservation.additional(HugepageSize.TWO_MIB, pages);
        boolean had = reservation.outcome() == Outcome.RAISED;
        if (!had) {
            reservation.close();
        }
        assumeTrue(had, pages + " hugepages are not available: " + reservation.description());
        return new BorrowedHugepages(reservation);
    }

    @Override
    public void close() {
        reservation.close();
    }
}
