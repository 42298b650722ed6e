package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;

/**
 * An extent that gets another home in place of one that works.
 *
 * @param space id
 * @param firstPage of the extent
 * @param from the home that leaves
 * @param to the node of the home that joins
 * @param reason why
 */
record Move(long space, long firstPage, ExtentHome from, String to, Reason reason) {

    /** Why an extent moves. */
    enum Reason {
        /** The home has more load than others. */
        PRESSURE,
        /** The new home is in the failure domain of the node that asks for the pages. */
        NEAR,
        /** The home's pool is fuller than others. */
        CAPACITY
    }

    boolean isOf(long id, Extent extent) {
        return space == id && firstPage == extent.firstPage();
    }
}
