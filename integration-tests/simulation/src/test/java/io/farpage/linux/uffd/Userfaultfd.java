package io.farpage.linux.uffd;

import io.farpage.it.simulation.engine.Descriptors;
import io.farpage.it.simulation.guest.GuestKernel;

/** In place of the class of the same name: that of a simulated guest. */
public final class Userfaultfd implements PageFaults {
    public static final long COPY_MODE_DONTWAKE = 1L;
    public static final long COPY_MODE_WP = 1L << 1;
    public static final long WRITEPROTECT_MODE_WP = 1L;

    private final int fd;
    private final GuestKernel.Faults kernel;

    private Userfaultfd(int fd) {
        this.fd = fd;
        kernel = Descriptors.object(fd, GuestKernel.Faults.class);
    }

    public static Userfaultfd adopt(int fd) {
        return new Userfaultfd(fd);
    }

    @Override
    public int fd() {
        return fd;
    }

    @Override
    public int read(UffdMessages messages) {
        return kernel.read(messages);
    }

    @Override
    public long copy(long destination, long source, long length, long mode) {
        return kernel.copy(destination, source, length, mode);
    }

    @Override
    public long zeropage(long start, long length) {
        return kernel.zeropage(start, length);
    }

    @Override
    public long continueAt(long start, long length) {
        return kernel.continueAt(start, length);
    }

    @Override
    public long poison(long start, long length) {
        return kernel.poison(start, length);
    }

    @Override
    public int writeProtect(long start, long length, boolean protect) {
        return kernel.writeProtect(start, length, protect);
    }

    @Override
    public int wake(long start, long length) {
        return kernel.wake(start, length);
    }

    @Override
    public PageFaults child(int descriptor) {
        throw new UnsupportedOperationException("no guest of the simulation forks");
    }

    @Override
    public void close() {
        Descriptors.close(fd);
    }
}
