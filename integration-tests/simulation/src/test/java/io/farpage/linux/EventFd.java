package io.farpage.linux;

import io.farpage.it.simulation.engine.Descriptors;

/** In place of the class of the same name: a descriptor of the simulation. */
public final class EventFd implements AutoCloseable {
    private final int fd = Descriptors.open(this, this::isSignalled);
    private boolean signalled;

    public int fd() {
        return fd;
    }

    private boolean isSignalled() {
        return signalled;
    }

    public void signal(Errno errno) {
        signalled = true;
        Descriptors.changed(fd);
    }

    public boolean drain(Errno errno) {
        boolean was = signalled;
        signalled = false;
        return was;
    }

    @Override
    public void close() {
        Descriptors.close(fd);
    }
}
