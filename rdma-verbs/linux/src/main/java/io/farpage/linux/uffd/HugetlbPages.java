package io.farpage.linux.uffd;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import io.farpage.linux.Memory;
import io.farpage.linux.PosixException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/**
 * Which pages a file on hugetlbfs has. lseek(2) does not tell, since hugetlbfs calls holes data, and mincore(2) sees
 * only what the caller has mapped. {@code UFFDIO_CONTINUE} on a mapping of this process's own maps a page that the page
 * cache has, whatever put it there and whether another process has it mapped, and fails with EFAULT for a hole. It
 * allocates nothing.
 *
 * <p>The mapping has no access rights: with write access, mmap(2) lengthens a file of hugetlbfs that is shorter. It has
 * {@code MAP_NORESERVE}: without that, mmap(2) reserves hugepages for the holes.
 */
public final class HugetlbPages implements PresentPages, AutoCloseable {
    private static final int PROT_NONE = 0;
    /** {@code MAP_SHARED | MAP_NORESERVE}. */
    private static final int MAP_FLAGS = 0x01 | 0x4000;

    private static final MethodHandle mmap$mh = Libc.capturing(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));

    private final Userfaultfd uffd;
    private final int pageBytes;
    private final long address;
    private final long length;

    private HugetlbPages(Userfaultfd uffd, int pageBytes, long address, long length) {
        this.uffd = uffd;
        this.pageBytes = pageBytes;
        this.address = address;
        this.length = length;
    }

    /**
     * Begins to ask a file. Needs no privilege.
     *
     * @param fd of a file on hugetlbfs, open for reading and writing; it stays the caller's
     * @param start where offsets count from, a multiple of {@code pageBytes} within the file, bytes
     * @param pageBytes of the file
     * @throws PosixException if the kernel cannot answer for this file: EINVAL before Linux 5.13, EPERM if a seal
     *     forbids writing to the file
     */
    public static HugetlbPages open(int fd, long start, int pageBytes) {
        long length = MemoryFile.lengthOf(fd) - start;
        Errno errno = Errno.ofThread();
        Userfaultfd uffd = Userfaultfd.openForUserMode(Userfaultfd.FEATURE_MINOR_HUGETLBFS);
        boolean done = false;
        try {
            // SAFETY: the kernel picks a range that is free.
            long address = errno.check(
                    (long) mmap$mh.invokeExact(errno.segment(), 0L, length, PROT_NONE, MAP_FLAGS, fd, start));
            if (address < 0) {
                throw new PosixException("mmap of %d bytes of the file".formatted(length), (int) -address);
            }
            HugetlbPages pages = new HugetlbPages(uffd, pageBytes, address, length);
            int registered = uffd.register(address, length, Userfaultfd.REGISTER_MODE_MINOR);
            if (registered < 0) {
                Memory.munmap(address, length);
                throw new PosixException("UFFDIO_REGISTER of the file for minor faults", -registered);
            }
            done = true;
            return pages;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        } finally {
            if (!done) {
                uffd.close();
            }
        }
    }

    @Override
    public long nextData(long offset) {
        for (long at = offset; at < length; at += pageBytes) {
            long mapped = uffd.continueAt(address + at, pageBytes);
            if (mapped > 0 || mapped == -Errno.EEXIST) {
                return at;
            }
            if (mapped != -Errno.EFAULT) {
                return mapped;
            }
        }
        return -Errno.ENXIO;
    }

    /**
     * Maps as many pages with one call as follow one another; those that an earlier call has mapped are asked for one
     * by one.
     */
    @Override
    public long nextHole(long offset) {
        long at = offset;
        while (at < length) {
            long mapped = uffd.continueAt(address + at, length - at);
            if (mapped == -Errno.EFAULT) {
                return at;
            }
            if (mapped < 0 && mapped != -Errno.EEXIST) {
                return mapped;
            }
            at += mapped > 0 ? mapped : pageBytes;
        }
        return length;
    }

    @Override
    public void close() {
        Memory.munmap(address, length);
        uffd.close();
    }
}
