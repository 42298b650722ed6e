package io.farpage.pool;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.SystemCall;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.pool.hugepages.HugepageSize;
import java.util.Arrays;
import java.util.Optional;

/**
 * The memory of a pool as a file, whose descriptor another process can hold while this one is started again. Its length
 * never changes. Closing it closes the descriptor; mappings stay.
 */
public final class PoolFile implements AutoCloseable {
    private static final String NAME = "farpage-pool";

    private final int fd;
    private final long length;
    private final Optional<HugepageSize> hugepages;
    private boolean closed;

    private PoolFile(int fd, long length, Optional<HugepageSize> hugepages) {
        this.fd = fd;
        this.length = length;
        this.hugepages = hugepages;
    }

    /** How making a file ended. */
    sealed interface Made {
        /** It is empty: all of it is zeros, and nothing is allocated. */
        record File(PoolFile file) implements Made {}

        /** The system refused it. */
        record Refused(String cause) implements Made {}
    }

    static Made create(long length, Optional<HugepageSize> hugepages) {
        SystemCall made =
                SharedMemory.create(NAME, hugepages.map(HugepageSize::shift).orElse(0));
        if (!made.succeeded()) {
            return new Made.Refused("memfd_create: " + made.error());
        }
        int fd = (int) made.value();
        SystemCall sized = SharedMemory.setLength(fd, length);
        if (!sized.succeeded()) {
            FileIo.close(Errno.ofThread(), fd);
            return new Made.Refused("ftruncate of a memfd to %d bytes: %s".formatted(length, sized.error()));
        }
        return new Made.File(new PoolFile(fd, length, hugepages));
    }

    /**
     * Takes over the descriptor of a pool's file that an earlier process has made.
     *
     * @throws KeptPoolException if it is of anything else; the descriptor is closed then
     */
    public static PoolFile adopt(int fd) throws KeptPoolException {
        SystemCall page = SharedMemory.pageBytes(fd);
        long length = MemoryFile.lengthOf(fd);
        if (!SharedMemory.hasFixedLength(fd) || !page.succeeded() || length < PoolLayout.ALIGNMENT) {
            FileIo.close(Errno.ofThread(), fd);
            throw KeptPoolException.of("what was kept is not the memory of a pool: a sealed memfd of at least %d bytes"
                    .formatted(PoolLayout.ALIGNMENT));
        }
        return new PoolFile(
                fd,
                length,
                Arrays.stream(HugepageSize.values())
                        .filter(size -> size.bytes() == page.value())
                        .findFirst());
    }

    /** The descriptor. It stays this file's. */
    public int fd() {
        return fd;
    }

    long length() {
        return length;
    }

    Optional<HugepageSize> hugepages() {
        return hugepages;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            FileIo.close(Errno.ofThread(), fd);
        }
    }
}
