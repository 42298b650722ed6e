package io.farpage.it.harness;

import io.farpage.it.harness.CloudHypervisorPeer.Installs;
import io.farpage.it.harness.CloudHypervisorPeer.Range;
import io.farpage.linux.Errno;
import io.farpage.linux.Memory;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.SystemCall;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.Userfaultfd;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Guest RAM of Cloud Hypervisor ({@code shared=on}), registered with a userfaultfd and filled as
 * {@code vmm/src/uffd.rs} of commit ae44c2971c83 does. That registers for minor faults, and installs by
 * {@code UFFDIO_CONTINUE}, where it has got memory descriptors and pages are in the memory already; this does the same
 * with pages that came inline.
 */
final class CloudHypervisorRam implements AutoCloseable {
    private static final long FEATURE_MINOR_SHMEM = 1L << 10;

    private final Installs how;
    private final long length;
    private final MemoryFile file;
    private final long registered;
    private final MemorySegment other;
    private final Userfaultfd uffd;

    @SuppressWarnings("restricted") // memory at an address
    CloudHypervisorRam(List<Range> ranges, Installs how) {
        this.how = how;
        boolean isMinor = how == Installs.BY_CONTINUE;
        length = ranges.stream().mapToLong(Range::bytes).sum();
        file = MemoryFile.create("ch_ram", length);
        registered = map();
        // SAFETY: mapped with this length, and unmapped by close alone.
        other = MemorySegment.ofAddress(map()).reinterpret(length);
        uffd = Userfaultfd.open(Userfaultfd.FEATURE_MISSING_SHMEM | (isMinor ? FEATURE_MINOR_SHMEM : 0));
        long mode = Userfaultfd.REGISTER_MODE_MISSING | (isMinor ? Userfaultfd.REGISTER_MODE_MINOR : 0);
        int registration = uffd.register(registered, length, mode);
        if (registration != 0) {
            throw new IllegalStateException("UFFDIO_REGISTER: " + registration);
        }
    }

    private long map() {
        SystemCall map = SharedMemory.map(file.fd(), length);
        if (!map.succeeded()) {
            throw new IllegalStateException("mmap: " + map.error());
        }
        return map.value();
    }

    /** Installs a page, unless it was installed before. */
    void install(long offset, byte[] page) throws IOException {
        long done;
        if (how == Installs.BY_CONTINUE) {
            MemorySegment.copy(page, 0, other, ValueLayout.JAVA_BYTE, offset, page.length);
            done = uffd.continueAt(registered + offset, page.length);
        } else {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment source = arena.allocate(page.length, 4096);
                source.copyFrom(MemorySegment.ofArray(page));
                done = uffd.copy(registered + offset, source.address(), page.length, 0);
            }
        }
        if (done != page.length && done != -Errno.EEXIST) {
            throw new IOException("a page of %d bytes at %d is not installed: %d".formatted(page.length, offset, done));
        }
    }

    /** What the guest has. */
    byte[] content() {
        return other.toArray(ValueLayout.JAVA_BYTE);
    }

    @Override
    public void close() {
        uffd.close();
        Memory.munmap(registered, length);
        Memory.munmap(other.address(), length);
        file.close();
    }
}
