package io.farpage.verbs.soft;

import io.farpage.verbs.QpEndpoint;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A party between two nodes that hands the bytes of their connections on, records them, and may change them. */
final class Tap implements AutoCloseable {
    /** Changes bytes on their way, in place. */
    interface Change {
        /** Changes them; {@code at} bytes of this direction went before. */
        void apply(boolean toResponder, long at, byte[] bytes, int length);
    }

    private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final int target;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final ByteArrayOutputStream seen = new ByteArrayOutputStream();
    private volatile Change change = (toResponder, at, bytes, length) -> {};

    Tap(int target) throws IOException {
        this.target = target;
        start(this::accept);
    }

    /** {@code endpoint} as it is reached through this party. */
    QpEndpoint through(QpEndpoint endpoint) {
        return new QpEndpoint(endpoint.qpn(), listening.getLocalPort(), endpoint.gid(), endpoint.psn());
    }

    void change(Change next) {
        change = next;
    }

    /** Everything that went either way. */
    byte[] seen() {
        synchronized (seen) {
            return seen.toByteArray();
        }
    }

    private static void start(Runnable body) {
        Thread.ofPlatform().daemon().name("tap").start(body);
    }

    private void accept() {
        try {
            while (true) {
                Socket caller = listening.accept();
                Socket responder = new Socket(InetAddress.getLoopbackAddress(), target);
                responder.setTcpNoDelay(true);
                caller.setTcpNoDelay(true);
                sockets.add(caller);
                sockets.add(responder);
                start(() -> pump(true, caller, responder));
                start(() -> pump(false, responder, caller));
            }
        } catch (IOException e) {
            // The end of the test, or of the responder.
        }
    }

    private void pump(boolean toResponder, Socket from, Socket to) {
        byte[] bytes = new byte[1 << 16];
        long at = 0;
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int read = in.read(bytes); read > 0; read = in.read(bytes)) {
                change.apply(toResponder, at, bytes, read);
                at += read;
                synchronized (seen) {
                    seen.write(bytes, 0, read);
                }
                out.write(bytes, 0, read);
            }
        } catch (IOException e) {
            // Either side has closed.
        }
    }

    @Override
    public void close() throws IOException {
        listening.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
