package io.farpage.guest.vmm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import io.farpage.linux.PosixException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** Mapped memory as raw addresses (mmap(2)). */
final class Mappings {
    private static final int PROT_READ_WRITE = 0x1 | 0x2;
    /** Hugepages are taken as they are touched, rather than set aside for all of a mapping. */
    private static final int MAP_NORESERVE = 0x4000;

    private static final int MAP_SHARED = 0x01;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x02 | 0x20;
    private static final int MAP_HUGE_2MB = 0x40000 | 21 << 26;

    private static final MethodHandle mmap$mh = Libc.capturing(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle munmap$mh =
            Libc.capturing("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));

    private Mappings() {}

    /** Private memory of no file; nothing is set aside for it. */
    static long anonymous(Errno errno, long bytes) {
        return mmap(errno, bytes, MAP_PRIVATE_ANONYMOUS | MAP_NORESERVE, -1);
    }

    /** As {@link #anonymous}, of hugepages of 2 MiB. */
    static long anonymousHuge(Errno errno, long bytes) {
        return mmap(errno, bytes, MAP_PRIVATE_ANONYMOUS | MAP_NORESERVE | MAP_HUGE_2MB, -1);
    }

    /** All of a file, shared. */
    static long shared(Errno errno, int fd, long bytes) {
        return mmap(errno, bytes, MAP_SHARED | MAP_NORESERVE, fd);
    }

    private static long mmap(Errno errno, long bytes, int flags, int fd) {
        try {
            // SAFETY: the kernel picks an address where nothing is.
            long address = (long) mmap$mh.invokeExact(errno.segment(), 0L, bytes, PROT_READ_WRITE, flags, fd, 0L);
            if (address == -1) {
                throw new PosixException("mmap of " + bytes + " bytes", errno.value());
            }
            return address;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Unmaps what one of the above has mapped. */
    static void unmap(Errno errno, long address, long bytes) {
        try {
            // SAFETY: the caller has mapped the range and no longer uses it.
            errno.require((int) munmap$mh.invokeExact(errno.segment(), address, bytes), "munmap");
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
