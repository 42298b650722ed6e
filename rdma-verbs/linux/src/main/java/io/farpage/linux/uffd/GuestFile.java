package io.farpage.linux.uffd;

/**
 * What a pager asks of the file behind a guest's memory: {@link MemoryFile}, and in tests that of a simulated kernel.
 * Calls return a negative error number on failure and allocate nothing. One thread at a time.
 */
public interface GuestFile {
    /**
     * Reads into {@code address}; a hole reads as zeros and stays one. Bytes read, fewer at the end, or a negative
     * error number.
     */
    long read(long offset, long address, long length);

    /**
     * Takes pages out of the file and out of all mappings of it; 0, or a negative error number: -EPERM if a seal
     * forbids it.
     */
    int punchHole(long offset, long length);

    /**
     * Where the first page of a range begins that a file of ordinary pages has; -ENXIO if it has none there, or another
     * negative error number.
     */
    long firstPage(long offset, long length);
}
