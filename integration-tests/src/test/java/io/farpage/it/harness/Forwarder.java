package io.farpage.it.harness;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Forwards TCP connections to another port of the loopback, and can be cut: then bytes wait on both sides and new
 * connections get no answer, as where packets are dropped. Any thread.
 */
public final class Forwarder implements AutoCloseable {
    private static final int CHUNK = 16 << 10;

    private final ServerSocket listener;
    private final int target;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private boolean cut;
    private boolean closed;

    /** Listens at a free port and forwards to {@code target}. */
    public Forwarder(int target) {
        this.target = target;
        try {
            listener = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().start(this::accept);
    }

    /** Where it listens, for HTTP. */
    public URI url() {
        return URI.create("http://127.0.0.1:" + listener.getLocalPort());
    }

    /** Stops forwarding until {@link #heal}. */
    public void cut() {
        set(true, false);
    }

    /** Forwards again, first what has waited. */
    public void heal() {
        set(false, false);
    }

    private void set(boolean isCut, boolean isClosed) {
        lock.lock();
        try {
            cut = isCut;
            closed = closed || isClosed;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits while it is cut. Returns false if it is closed. */
    private boolean awaitWhole() {
        lock.lock();
        try {
            while (cut && !closed) {
                changed.awaitUninterruptibly();
            }
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    private void accept() {
        while (true) {
            try {
                Socket from = listener.accept();
                sockets.add(from);
                Thread.ofVirtual().start(() -> connect(from));
            } catch (IOException closing) {
                return;
            }
        }
    }

    private void connect(Socket from) {
        Socket to = new Socket();
        sockets.add(to);
        try {
            if (awaitWhole()) {
                to.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), target));
                Thread.ofVirtual().start(() -> copy(from, to));
                copy(to, from);
                return;
            }
        } catch (IOException refused) {
            // The target is down: so is the connection.
        }
        end(from, to);
    }

    private void copy(Socket from, Socket to) {
        byte[] chunk = new byte[CHUNK];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int got = in.read(chunk); got >= 0 && awaitWhole(); got = in.read(chunk)) {
                out.write(chunk, 0, got);
            }
        } catch (IOException ended) {
            // Either side may end a connection.
        }
        awaitWhole();
        end(from, to);
    }

    private void end(Socket one, Socket other) {
        for (Socket socket : new Socket[] {one, other}) {
            sockets.remove(socket);
            try {
                socket.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public void close() {
        set(false, true);
        try {
            listener.close();
            for (Socket socket : sockets) {
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
