package io.farpage.guest.vmm;

import io.farpage.linux.Errno;
import io.farpage.linux.uffd.MemoryFile;
import java.util.Locale;
import java.util.Optional;

/**
 * The RAM of a guest that holds pages: an address that no Java code reads or writes, as a thread that faults there in
 * Java code waits for an agent across a safepoint, and with it the JVM.
 */
public final class GuestMemory implements AutoCloseable {
    /** What is behind it. */
    public enum Backing {
        /** Shared memory of a file; an agent can evict from it. */
        MEMFD(4096),
        /** Private memory, as Firecracker's. */
        ANONYMOUS(4096),
        /** Shared memory of a file on hugetlbfs. */
        HUGETLB(2 << 20),
        /** Private hugepages, as Firecracker's with {@code huge_pages: 2M}. */
        HUGETLB_ANONYMOUS(2 << 20);

        private final int pageBytes;

        Backing(int pageBytes) {
            this.pageBytes = pageBytes;
        }

        /** Bytes of a page. */
        public int pageBytes() {
            return pageBytes;
        }

        String label() {
            return toString();
        }

        /** As options have it. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    private static final String NAME = "farpage-guest";

    private final Errno errno = Errno.create();
    private final Backing backing;
    private final long bytes;
    private final Optional<MemoryFile> file;
    private final long address;

    private GuestMemory(Backing backing, long bytes, Optional<MemoryFile> file, long address) {
        this.backing = backing;
        this.bytes = bytes;
        this.file = file;
        this.address = address;
    }

    /**
     * Maps it.
     *
     * @param bytes a multiple of the backing's page
     */
    public static GuestMemory map(Backing backing, long bytes) {
        Errno errno = Errno.ofThread();
        return switch (backing) {
            case ANONYMOUS -> new GuestMemory(backing, bytes, Optional.empty(), Mappings.anonymous(errno, bytes));
            case HUGETLB_ANONYMOUS ->
                new GuestMemory(backing, bytes, Optional.empty(), Mappings.anonymousHuge(errno, bytes));
            case MEMFD -> of(backing, MemoryFile.create(NAME, bytes), bytes);
            case HUGETLB -> of(backing, MemoryFile.createHuge(NAME, bytes), bytes);
        };
    }

    private static GuestMemory of(Backing backing, MemoryFile file, long bytes) {
        return new GuestMemory(backing, bytes, Optional.of(file), Mappings.shared(Errno.ofThread(), file.fd(), bytes));
    }

    public long address() {
        return address;
    }

    public long bytes() {
        return bytes;
    }

    /** Bytes of one of its pages. */
    public int pageBytes() {
        return backing.pageBytes();
    }

    /** The file behind it, if it is a memfd's. */
    public Optional<MemoryFile> file() {
        return file;
    }

    /** Unmaps the memory; no virtual machine may use it. */
    @Override
    public void close() {
        Mappings.unmap(errno, address, bytes);
        file.ifPresent(MemoryFile::close);
    }
}
