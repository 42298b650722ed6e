package io.farpage.linux.uffd;

/**
 * What a pager asks of the kernel about a guest's memory: {@link Userfaultfd}, and in tests a simulated kernel. A
 * running agent loads no other implementation, so that calls are bound directly. Calls return a negative error number
 * on failure and allocate nothing. One thread at a time.
 */
public interface PageFaults extends AutoCloseable {
    /** Readable while messages wait. */
    int fd();

    /**
     * Fills {@code messages} with what waits.
     *
     * @return how many, 0 if nothing waits, or a negative error number
     */
    int read(UffdMessages messages);

    /**
     * {@code UFFDIO_COPY}: installs pages and wakes the threads that wait for them.
     *
     * @param source where the bytes are in this process
     * @param mode {@link Userfaultfd#COPY_MODE_DONTWAKE}, {@link Userfaultfd#COPY_MODE_WP}
     * @return bytes installed, fewer than {@code length} if a later page could not be; -EEXIST if the first page exists
     *     already, -EAGAIN while an event waits to be read, -ESRCH if the process is gone, -ENOENT if the range is not
     *     registered
     */
    long copy(long destination, long source, long length, long mode);

    /** {@code UFFDIO_ZEROPAGE}: as {@link #copy}, of zeros; not on hugetlbfs. */
    long zeropage(long start, long length);

    /**
     * {@code UFFDIO_CONTINUE}: maps pages that are in the page cache already, after a minor fault. Returns as
     * {@link #copy}.
     */
    long continueAt(long start, long length);

    /**
     * {@code UFFDIO_POISON}, Linux 6.6: a thread that touches one of the pages gets SIGBUS. Returns as {@link #copy};
     * -EINVAL on older kernels.
     */
    long poison(long start, long length);

    /**
     * {@code UFFDIO_WRITEPROTECT}: protects, or unprotects and wakes. 0, or a negative error number: -EAGAIN as for
     * {@link #copy}.
     */
    int writeProtect(long start, long length, boolean protect);

    /** {@code UFFDIO_WAKE}: threads that wait for the range fault again. */
    int wake(long start, long length);

    /**
     * What a fork left for the child's memory; closing that closes the descriptor.
     *
     * @param descriptor from {@link UffdMessages#forked}
     */
    PageFaults child(int descriptor);

    /** Closes the descriptor. If it was the last one, the kernel resolves the faults again, with zeros. */
    @Override
    void close();
}
