package io.farpage.linux.uffd;

import io.farpage.it.simulation.engine.Descriptors;
import io.farpage.it.simulation.guest.GuestKernel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** In place of the class of the same name: that of a simulated guest. */
public final class MemoryFile implements GuestFile, PresentPages, AutoCloseable {
    private final int fd;
    private final long base;
    private final GuestKernel kernel;

    private MemoryFile(int fd, long base, GuestKernel kernel) {
        this.fd = fd;
        this.base = base;
        this.kernel = kernel;
    }

    public static MemoryFile adopt(int fd) {
        return new MemoryFile(fd, 0, Descriptors.object(fd, GuestKernel.class));
    }

    public static long lengthOf(int fd) {
        if (Descriptors.isSimulated(fd)) {
            return Descriptors.object(fd, GuestKernel.class).length();
        }
        try {
            return Files.size(Path.of("/proc/self/fd", Integer.toString(fd)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public MemoryFile from(long start) {
        return new MemoryFile(fd, base + start, kernel);
    }

    public int fd() {
        return fd;
    }

    @Override
    public long read(long offset, long address, long length) {
        return kernel.readFile(base + offset, address, length);
    }

    @Override
    public int punchHole(long offset, long length) {
        return kernel.punchHole(base + offset, length);
    }

    @Override
    public long firstPage(long offset, long length) {
        long found = seek(offset, true);
        return found >= offset + length ? -io.farpage.linux.Errno.ENXIO : found;
    }

    @Override
    public long nextData(long offset) {
        return seek(offset, true);
    }

    @Override
    public long nextHole(long offset) {
        return seek(offset, false);
    }

    private long seek(long offset, boolean data) {
        long found = kernel.seek(base + offset, data);
        return found < 0 ? found : found - base;
    }

    @Override
    public void close() {}
}
