package io.farpage.agent.control.pins;

/**
 * The status of pins on a guest's memory, as in the REST API.
 *
 * @param held whether pages stay, whatever the limit, because they may be pinned
 * @param detail which descriptor is why, and what stays; empty if none
 * @param inspections of the VMM's descriptors so far
 * @param inspectionNs mean duration of one, nanoseconds
 */
public record PinStatus(boolean held, String detail, long inspections, long inspectionNs) {
    /** The status of memory that is never evicted, or not attached. */
    public static final PinStatus NONE = new PinStatus(false, "", 0, 0);
}
