package io.farpage.agent.data.pager.page;

/**
 * A run of a guest's memory, as its VMM has it mapped.
 *
 * @param hostAddress where it starts in the VMM's address space, bytes
 * @param length bytes
 * @param offset where it starts within the space, and within the memory file if there is one, bytes
 */
public record GuestRegion(long hostAddress, long length, long offset) {
    /** Where it ends in the VMM's address space, exclusive. */
    public long hostEnd() {
        return hostAddress + length;
    }

    /** Where it ends within the space, exclusive. */
    public long end() {
        return offset + length;
    }

    /**
     * Whether it has whole pages and lies within memory.
     *
     * @param bytes of the memory
     */
    public boolean isSound(long bytes, int pageBytes) {
        return length > 0
                && offset >= 0
                && length <= bytes - offset
                && (offset | length | hostAddress) % pageBytes == 0;
    }
}
