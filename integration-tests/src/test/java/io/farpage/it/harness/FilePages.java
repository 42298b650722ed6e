package io.farpage.it.harness;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import io.farpage.linux.uffd.MemoryFile;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.util.BitSet;

/**
 * Which pages of a memory file are resident, asked of the file alone ({@code lseek(2)} with {@code SEEK_DATA}): nothing
 * faults.
 */
public final class FilePages {
    private static final int SEEK_DATA = 3;
    private static final MethodHandle lseek$mh =
            Libc.capturing("lseek", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));

    private FilePages() {}

    /** The resident ones of the first {@code pages} pages. */
    public static BitSet resident(MemoryFile file, int pages, int pageBytes) {
        BitSet resident = new BitSet(pages);
        Errno errno = Errno.ofThread();
        try {
            for (int page = 0; page < pages; page++) {
                long offset = (long) page * pageBytes;
                long data = errno.check((long) lseek$mh.invokeExact(errno.segment(), file.fd(), offset, SEEK_DATA));
                resident.set(page, data == offset);
            }
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
        return resident;
    }
}
