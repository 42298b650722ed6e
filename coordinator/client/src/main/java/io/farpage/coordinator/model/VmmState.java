package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Says that the pages of a space are a file in which a VMM has left its state: registers and devices of a machine whose
 * memory is a snapshot.
 *
 * @param snapshot id of the space of that snapshot, with which this space is deleted
 * @param bytes length of the file, 1 to 64 MiB; the rest of the last page is zeros
 */
public record VmmState(
        @JsonProperty(required = true) long snapshot,
        @JsonProperty(required = true) long bytes) {

    /** Bytes of the longest file. */
    public static final long MAX_BYTES = 64L << 20;

    /** Ends the name of the space, which begins with that of the snapshot. */
    public static final String SUFFIX = ".state";

    /** Checks the length. */
    public VmmState {
        Check.range("vmmState.bytes", bytes, 1, MAX_BYTES);
    }

    /** Bytes of a space for the file, in whole pages. */
    public long spaceBytes(int pageSize) {
        return Math.ceilDiv(bytes, pageSize) * pageSize;
    }
}
