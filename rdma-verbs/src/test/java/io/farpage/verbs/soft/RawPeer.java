package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.verbs.QpEndpoint;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;

/** A peer made of a plain socket, which may say whatever it likes. */
final class RawPeer implements AutoCloseable {
    static final int QPN = 0x123456;
    static final int PSN = 0x654321;

    private final Socket socket;
    private final OutputStream out;
    private final InputStream in;

    RawPeer(int port) throws IOException {
        this(port, InetAddress.getLoopbackAddress());
    }

    /** @param from address of this host that the connection comes from */
    RawPeer(int port, InetAddress from) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port, from, 0);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(10_000);
        out = socket.getOutputStream();
        in = socket.getInputStream();
    }

    /** What a queue pair must take for its peer's endpoint, so that it listens to a raw peer. */
    static QpEndpoint endpoint(QpEndpoint any) {
        return new QpEndpoint(QPN, any.lid(), any.gid(), PSN);
    }

    static byte[] hello(QpEndpoint target) {
        return hello(Wire.VERSION, target);
    }

    private static byte[] hello(int version, QpEndpoint target) {
        return hello(version, target, 0);
    }

    private static byte[] hello(int version, QpEndpoint target, int rnrRetry) {
        MemorySegment bytes = Arena.ofAuto().allocate(Wire.HELLO_SIZE, 8);
        new Hello(version, QPN, target.qpn(), PSN, target.psn(), 16, rnrRetry, 5, false, false).encode(bytes);
        return bytes.toArray(JAVA_BYTE);
    }

    static byte[] request(int opcode, int sequence, long address, int rkey, int length) {
        return request(opcode, 0, sequence, address, rkey, length);
    }

    static byte[] request(int opcode, int flags, int sequence, long address, int rkey, int length) {
        MemorySegment bytes = Arena.ofAuto().allocate(Wire.REQUEST_SIZE, 8);
        RequestHeader.encode(bytes, 0, opcode, flags, (PSN + sequence) & Wire.PSN_MASK, address, rkey, length);
        return bytes.toArray(JAVA_BYTE);
    }

    void send(byte[] bytes) throws IOException {
        out.write(bytes);
    }

    HelloReply.Verdict greet(QpEndpoint target) throws IOException {
        return greet(Wire.VERSION, target).verdict();
    }

    /** Greets as one that waits for receives for ever. */
    HelloReply.Verdict greetPatiently(QpEndpoint target) throws IOException {
        return greet(hello(Wire.VERSION, target, 7)).verdict();
    }

    HelloReply greet(int version, QpEndpoint target) throws IOException {
        return greet(hello(version, target));
    }

    private HelloReply greet(byte[] hello) throws IOException {
        send(hello);
        byte[] reply = in.readNBytes(Wire.HELLO_REPLY_SIZE);
        MemorySegment bytes = Arena.ofAuto().allocate(Wire.HELLO_REPLY_SIZE, 8);
        MemorySegment.copy(reply, 0, bytes, JAVA_BYTE, 0, reply.length);
        return HelloReply.decode(bytes).orElseThrow();
    }

    /** The connection itself. */
    Socket socket() {
        return socket;
    }

    void halfClose() throws IOException {
        socket.shutdownOutput();
    }

    /** Everything until the other side closes; a reset is an end too. */
    byte[] readToEnd() {
        try {
            return in.readAllBytes();
        } catch (SocketTimeoutException e) {
            throw new AssertionError("the connection is still open", e);
        } catch (IOException e) {
            return new byte[0];
        }
    }

    /** The next bytes; fewer at the end. */
    byte[] read(int count) throws IOException {
        return in.readNBytes(count);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
