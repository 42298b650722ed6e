package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509TrustManager;

/** A client that sends what no client should, over TCP, TLS or a Unix socket. */
public final class Stranger implements AutoCloseable {
    private static final long PAUSE_MILLIS = 250;

    private final AutoCloseable connection;
    private final InputStream in;
    private final OutputStream out;

    private Stranger(AutoCloseable connection, InputStream in, OutputStream out) {
        this.connection = connection;
        this.in = in;
        this.out = out;
    }

    /** Connects to a port of this machine. */
    public static Stranger tcp(int port) throws IOException {
        return connected(StandardProtocolFamily.INET, new InetSocketAddress("127.0.0.1", port));
    }

    /** Connects to a Unix socket. */
    public static Stranger unix(Path path) throws IOException {
        return connected(StandardProtocolFamily.UNIX, UnixDomainSocketAddress.of(path));
    }

    /** Connects to a port of this machine from another address of it. */
    public static Stranger tcp(int port, String from) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port, InetAddress.getByName(from), 0);
        return new Stranger(socket, socket.getInputStream(), socket.getOutputStream());
    }

    private static Stranger connected(StandardProtocolFamily family, SocketAddress to) throws IOException {
        SocketChannel channel = SocketChannel.open(family);
        channel.connect(to);
        return new Stranger(channel, Channels.newInputStream(channel), Channels.newOutputStream(channel));
    }

    /** Completes a TLS handshake with any server, without a certificate of its own. */
    public static Stranger tls(int port) throws IOException {
        try {
            SSLContext context = SSLContext.getInstance("TLSv1.3");
            context.init(null, new X509TrustManager[] {new Credulous()}, new SecureRandom());
            return tls(port, context);
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        }
    }

    /** Completes a TLS handshake. */
    public static Stranger tls(int port, SSLContext context) throws IOException {
        SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", port);
        socket.startHandshake();
        return new Stranger(socket, socket.getInputStream(), socket.getOutputStream());
    }

    /** Sends bytes one at a time, four in a second and the last one again and again, until the connection ends. */
    public Stranger dribble(byte[] bytes) {
        Thread.ofVirtual().start(() -> {
            try {
                for (int i = 0; true; i++) {
                    out.write(bytes[Math.min(i, bytes.length - 1)]);
                    out.flush();
                    TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
                }
            } catch (IOException e) {
                // The connection has ended.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        return this;
    }

    /** Sends text as Latin-1. A connection that the server has ended is not a failure. */
    public Stranger say(String text) {
        return say(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Sends bytes. A connection that the server has ended is not a failure. */
    public Stranger say(byte[] bytes) {
        try {
            out.write(bytes);
            out.flush();
        } catch (IOException e) {
            // What the server has said, and when it ended the connection, tells more.
        }
        return this;
    }

    /**
     * What the server says until it ends the connection, with or without a reset.
     *
     * @throws AssertionError if it does not end the connection in time
     */
    public String untilItEnds(Duration within) throws InterruptedException {
        StringBuilder said = new StringBuilder();
        CompletableFuture<Void> end = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            byte[] part = new byte[8192];
            try {
                for (int count = in.read(part); count >= 0; count = in.read(part)) {
                    synchronized (said) {
                        said.append(new String(part, 0, count, StandardCharsets.ISO_8859_1));
                    }
                }
            } catch (IOException e) {
                // Reset.
            }
            end.complete(null);
        });
        try {
            Deadlines.get("the end of the connection, by the server", within, end);
        } catch (ExecutionException e) {
            throw new AssertionError(e);
        }
        synchronized (said) {
            return said.toString();
        }
    }

    @Override
    public void close() {
        try {
            connection.close();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static final class Credulous implements X509TrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
