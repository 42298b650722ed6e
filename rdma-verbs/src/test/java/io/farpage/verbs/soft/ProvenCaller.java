package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Assumptions;

/**
 * A raw peer of a queue pair that encrypts: proves itself with an HMAC of its own, and leaves TLS to
 * {@code openssl s_client}.
 */
final class ProvenCaller implements AutoCloseable {
    private static final Path OPENSSL = Path.of("/usr/bin/openssl");
    private static final byte[] NONCE = new byte[32];

    final RawPeer peer;
    LinkSecret secret = EncryptedProvider.SECRET;

    private final Loopback pair;
    private final CompletionQueue queue;
    private final QueuePair home;
    private final QpEndpoint target;
    private byte[] transcript = new byte[0];

    ProvenCaller(SoftOptions options) throws IOException {
        pair = new Loopback(options);
        queue = pair.server.createCompletionQueue(256);
        home = pair.serverDomain.createQueuePair(queue, queue, QpOptions.DEFAULT);
        home.modifyToInit();
        home.requireProof(secret);
        home.modifyToRtr(RawPeer.endpoint(home.endpoint()));
        target = home.endpoint();
        peer = new RawPeer(target.lid());
        pair.serverMemory.fill((byte) 'S');
    }

    private byte[] mac(String label) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.bytes(), "HmacSHA256"));
            mac.update(("farpage soft 1 " + label).getBytes(StandardCharsets.US_ASCII));
            return mac.doFinal(transcript);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Says hello, and answers the challenge with a proof under {@code label}. */
    HelloReply.Verdict answer(String label) throws IOException {
        byte[] hello = RawPeer.hello(target);
        hello[27] = 1;
        peer.send(hello);
        peer.send(NONCE);
        byte[] reply = peer.read(16);
        assertEquals(HelloReply.Verdict.PROVE.ordinal(), reply[7]);
        assertEquals(1, reply[15], "this side encrypts");
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(hello);
        all.writeBytes(NONCE);
        all.writeBytes(peer.read(32));
        transcript = all.toByteArray();
        assertEquals(
                HexFormat.of().formatHex(mac("responder encrypted")),
                HexFormat.of().formatHex(peer.read(32)));
        peer.send(mac(label));
        return HelloReply.Verdict.values()[peer.read(16)[7]];
    }

    void prove() throws IOException {
        assertEquals(HelloReply.Verdict.ACCEPTED, answer("initiator encrypted"));
    }

    /**
     * Has {@code openssl s_client} read the first bytes of the server's memory over this connection; returns what it
     * got.
     */
    byte[] readWithOpenssl(int length) throws Exception {
        Assumptions.assumeTrue(Files.isExecutable(OPENSSL), OPENSSL + " is not there: apt-get install openssl");
        try (ServerSocket bridge = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Process client = new ProcessBuilder(
                            OPENSSL.toString(),
                            "s_client",
                            "-connect",
                            "127.0.0.1:" + bridge.getLocalPort(),
                            "-psk",
                            HexFormat.of().formatHex(mac("tls")),
                            "-psk_identity",
                            "openssl",
                            "-tls1_3",
                            "-ciphersuites",
                            "TLS_AES_128_GCM_SHA256",
                            "-quiet")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try (Socket near = bridge.accept()) {
                Thread.ofPlatform().daemon().start(() -> copy(near, peer.socket()));
                Thread.ofPlatform().daemon().start(() -> copy(peer.socket(), near));
                OutputStream out = client.getOutputStream();
                out.write(RawPeer.request(Wire.READ, 0, pair.serverMemory.address(), pair.serverRegion.rkey(), length));
                out.flush();
                DataInputStream in = new DataInputStream(client.getInputStream());
                byte[] header = in.readNBytes(Wire.REPLY_SIZE);
                if (header.length == 0) {
                    return header;
                }
                assertEquals(Wire.READ | Wire.REPLY_BIT, header[0] & 0xff);
                assertEquals(0, header[1], "status");
                return in.readNBytes(length);
            } finally {
                client.destroyForcibly();
                Deadlines.exit("the end of the process", Deadlines.SHORT, client);
            }
        }
    }

    private static void copy(Socket from, Socket to) {
        try {
            InputStream in = from.getInputStream();
            in.transferTo(to.getOutputStream());
            to.shutdownOutput();
        } catch (IOException e) {
            // Either side has closed.
        }
    }

    /** Shows that the device serves others. */
    void requireWorking() {
        pair.requireWorking();
    }

    @Override
    public void close() throws IOException {
        peer.close();
        home.close();
        queue.close();
        pair.close();
    }
}
