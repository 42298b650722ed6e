package io.farpage.agent.control.guest;

import java.util.List;
import java.util.Set;

/** The guests of this node, as they are reported to the coordinator. */
interface SampledGuests {
    /** The faults of the guests whose VMMs run, since the last call. For one caller. */
    List<GuestSample> samples();

    /** Requests counts of where the pages of guests are, for samples a moment later. */
    void requestMaps(Set<Long> spaces);
}
