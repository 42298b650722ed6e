package io.farpage.it.simulation.engine;

import java.io.InputStream;
import java.io.OutputStream;

/** A process of the simulation, as the one that has started it sees it. */
public final class SimulatedProcess extends Process {
    private static final int KILLED = 137;

    private final Node node;
    private boolean destroyed;

    public SimulatedProcess(Node node) {
        this.node = node;
    }

    @Override
    public long pid() {
        return SocketHooks.pid(node);
    }

    @Override
    public boolean isAlive() {
        return !node.isDead();
    }

    @Override
    public void destroy() {
        destroyed |= !node.isDead();
        node.kill();
    }

    /** Whether the one that has started it has ended it. */
    public boolean isDestroyed() {
        return destroyed;
    }

    @Override
    public int exitValue() {
        return KILLED;
    }

    @Override
    public int waitFor() {
        throw new UnsupportedOperationException("nothing waits for the end of a process");
    }

    @Override
    public OutputStream getOutputStream() {
        return OutputStream.nullOutputStream();
    }

    @Override
    public InputStream getInputStream() {
        return InputStream.nullInputStream();
    }

    @Override
    public InputStream getErrorStream() {
        return InputStream.nullInputStream();
    }
}
