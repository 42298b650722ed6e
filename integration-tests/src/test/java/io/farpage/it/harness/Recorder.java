package io.farpage.it.harness;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * A port of this machine that passes connections on to another port, one after the other, and keeps what the client of
 * the latest one has sent.
 */
public final class Recorder implements AutoCloseable {
    private final ServerSocket listener;
    private final int to;
    private final ByteArrayOutputStream sent = new ByteArrayOutputStream();

    /** Listens. */
    public Recorder(int to) throws IOException {
        this.to = to;
        listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Thread.ofPlatform().daemon().name("recorder").start(this::serve);
    }

    public int port() {
        return listener.getLocalPort();
    }

    /** What the client has sent so far. */
    public byte[] sent() {
        synchronized (sent) {
            return sent.toByteArray();
        }
    }

    private void serve() {
        while (!listener.isClosed()) {
            try (Socket client = listener.accept();
                    Socket server = new Socket(InetAddress.getLoopbackAddress(), to)) {
                synchronized (sent) {
                    sent.reset();
                }
                Thread back = Thread.ofPlatform().daemon().name("recorder-back").start(() -> {
                    pass(server, client, false);
                    shut(client);
                });
                pass(client, server, true);
                back.join();
            } catch (IOException e) {
                // Closed.
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** The server has ended the connection: nothing of the client is awaited from now on. */
    private static void shut(Socket client) {
        try {
            client.close();
        } catch (IOException e) {
            // It was closed.
        }
    }

    private void pass(Socket from, Socket into, boolean kept) {
        byte[] part = new byte[8192];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = into.getOutputStream();
            for (int count = in.read(part); count >= 0; count = in.read(part)) {
                if (kept) {
                    synchronized (sent) {
                        sent.write(part, 0, count);
                    }
                }
                out.write(part, 0, count);
            }
            into.shutdownOutput();
        } catch (IOException e) {
            // One of the two has ended.
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
