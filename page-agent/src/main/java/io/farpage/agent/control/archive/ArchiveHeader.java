package io.farpage.agent.control.archive;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.coordinator.model.VmmState;
import io.farpage.rest.Json;
import java.io.IOException;
import java.util.OptionalLong;

/**
 * The first entry of an archive. The others are, in this order: the state of the VMM, if there is one; frames of the
 * memory that are not all zeros, by their offset; and the {@link End end}. Each has a checksum, as entries of a ZIP
 * archive do.
 *
 * @param format of the entries, {@link #FORMAT}
 * @param name of the snapshot that was saved
 * @param sizeBytes of the memory, a multiple of the page size
 * @param pageSize 4096 or 2097152
 * @param stateBytes of the state of the VMM; empty if there is none
 */
public record ArchiveHeader(
        @JsonProperty(required = true) int format,
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) long sizeBytes,
        @JsonProperty(required = true) int pageSize,
        OptionalLong stateBytes) {

    static final int FORMAT = 1;
    static final String ENTRY = "snapshot.json";
    static final String STATE = "vmm-state";
    static final String FRAMES = "memory/";

    /** Bytes of memory in an entry; fewer in the last. */
    static final int FRAME_BYTES = 2 << 20;

    private static final int MAX_PAGE_BYTES = 2 << 20;

    /**
     * The last entry: without it the archive was cut off.
     *
     * @param frames how many entries of memory there are
     */
    record End(@JsonProperty(required = true) long frames) {
        static final String ENTRY = "end.json";
    }

    /** The name of the entry with the memory from an offset on. */
    static String frame(long offset) {
        return "%s%016x".formatted(FRAMES, offset);
    }

    /** How many bytes the entry with the memory from an offset on has. */
    int frameBytes(long offset) {
        return (int) Math.min(FRAME_BYTES, sizeBytes - offset);
    }

    /**
     * Reads a header.
     *
     * @throws IOException if it is none, or of a format that is not understood
     */
    static ArchiveHeader parse(byte[] json) throws IOException {
        ArchiveHeader header;
        try {
            header = Json.LENIENT.readValue(json, ArchiveHeader.class);
        } catch (RuntimeException e) {
            throw new IOException("%s cannot be read: %s".formatted(ENTRY, e.getMessage()), e);
        }
        if (header.format != FORMAT) {
            throw new IOException("it has format %d, and this agent reads format %d; update the agent"
                    .formatted(header.format, FORMAT));
        }
        if (header.pageSize < 1
                || header.pageSize > MAX_PAGE_BYTES
                || header.sizeBytes < header.pageSize
                || header.sizeBytes % header.pageSize != 0) {
            throw new IOException(
                    "%s says that it has %d bytes in pages of %d".formatted(ENTRY, header.sizeBytes, header.pageSize));
        }
        long state = header.stateBytes.orElse(1);
        if (state < 1 || state > VmmState.MAX_BYTES) {
            throw new IOException("%s says that the state of the VMM has %d bytes, which is not in 1..%d"
                    .formatted(ENTRY, state, VmmState.MAX_BYTES));
        }
        return header;
    }
}
