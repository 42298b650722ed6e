package io.farpage.bench.vmm;

import io.farpage.agent.uffd.MemoryFile;
import io.farpage.posix.Errno;
import java.util.Locale;
import java.util.Optional;

/**
 * The RAM of a guest that holds pages: an address that no Java code reads or writes, as a thread that faults there in Java code waits
 * for an agent across a safepoint, and with it the JVM.
 */
public final class GuestMemory implements AutoCloseable {
    /** What is behind it. */
    public enum Backing {
        /** Shared memory of a file, out of which an agent can evict. */
        MEMFD,
        /** Private memory, as Firecracker's. */
        ANONYMOUS;

        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private static final String NAME = "farpage-guest";

    private final Errno errno = Errno.create();
    private final long bytes;
    private final Optional<MemoryFile> file;
    private final long address;

    private GuestMemory(long bytes, Optional<MemoryFile> file, long address) {
        this.bytes = bytes;
        this.file = file;
        this.address = address;
    }

    /**
     * Maps it.
     *
     * @param bytes a multiple of 4096
     */
    public static GuestMemory map(Backing backing, long bytes) {
        Errno errno = Errno.ofThread();
        return switch (backing) {
            case ANONYMOUS -> new GuestMemory(bytes, Optional.empty(), Mappings.anonymous(errno, bytes));
            case MEMFD -> {
                MemoryFile file = MemoryFile.create(NAME, bytes);
                yield new GuestMemory(bytes, Optional.of(file), Mappings.shared(errno, file.fd(), bytes));
            }
        };
    }

    public long address() {
        return address;
    }

    public long bytes() {
        return bytes;
    }

    /** The file behind it, if it is a memfd's. */
    public Optional<MemoryFile> file() {
        return file;
    }

    /** Unmaps it; no virtual machine may use it any more. */
    @Override
    public void close() {
        Mappings.unmap(errno, address, bytes);
        file.ifPresent(MemoryFile::close);
    }
}
