package io.farpage.linux.uffd;

/**
 * Which pages a file of memory has: {@link MemoryFile} for ordinary pages, {@link HugetlbPages} for those of 2 MiB, and
 * in tests a simulated file. Asking allocates no page of the file. Calls return a negative error number on failure. One
 * thread at a time.
 */
public interface PresentPages {
    /**
     * Where the first page from an offset on begins that the file has, or a negative error number: -ENXIO if it has
     * none.
     */
    long nextData(long offset);

    /** Where the first page from an offset on begins that the file does not have: the end of the file counts as one. */
    long nextHole(long offset);
}
