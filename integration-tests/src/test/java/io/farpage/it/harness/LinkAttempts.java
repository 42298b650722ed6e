package io.farpage.it.harness;

import io.farpage.agent.control.grant.GrantContent;
import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.DocumentedRefusals.Port;
import io.farpage.tls.Credentials;
import io.farpage.tls.Tls;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** What is tried at the port on which an agent is linked with over TCP. */
public final class LinkAttempts implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int HELLO = 32;
    private static final int NONCE = 32;
    private static final int PROOF = 32;
    private static final int REPLY = 16;
    private static final int SIZE_FIELD = 6;
    private static final List<String> VERDICTS = List.of(
            "ACCEPTED",
            "VERSION_UNKNOWN",
            "MALFORMED",
            "QPN_UNKNOWN",
            "NOT_PEER",
            "NOT_READY",
            "BUSY",
            "PROVE",
            "NOT_PROVEN",
            "NOT_ENCRYPTED");
    private static final String PROVE = "PROVE";
    private static final String SUCCESS = "SUCCESS";
    private static final int LINKS = 3;
    /** Connections that may be in their handshake. */
    private static final int HANDSHAKES = 256;

    private static final Duration SOON = Duration.ofSeconds(25);

    private final Attempts attempts;
    private final Cluster cluster;
    private final Certificates certificates;
    private final List<CoordinatorClient> clients = new ArrayList<>();
    private final Map<String, ForeignNode> nodes = new HashMap<>();

    /** Does not add any attempt yet. */
    public LinkAttempts(Attempts attempts, Cluster cluster, Certificates certificates) {
        this.attempts = attempts;
        this.cluster = cluster;
        this.certificates = certificates;
    }

    /**
     * Adds the attempts at one agent's port.
     *
     * @param called the agent
     * @param linked an agent that it is linked with
     * @param allowed a node that both of its lists allow
     * @param outside a node that they do not
     */
    public void add(Port at, String called, String linked, String allowed, String outside) throws Exception {
        StolenEndpoint endpoint = StolenEndpoint.of(cluster.client(), called, linked);
        int port = endpoint.victim().port().orElseThrow();
        attempts.add("another node's id", at, () -> {
            try (Socket socket = endpoint.connect()) {
                socket.getOutputStream().write(endpoint.hello(/* proves= */ false));
                return verdict(socket.getInputStream());
            }
        });
        attempts.add(
                "forged proof",
                at,
                () -> prove(endpoint, concat(endpoint.hello(/* proves= */ true), new byte[NONCE]), new byte[PROOF]));
        attempts.add("address outside `tcp.allowed_addresses`", at, () -> {
            try (Stranger outsider = Stranger.tcp(port, "127.0.0.9")) {
                String said = outsider.untilItEnds(SOON);
                return said.isEmpty() ? Attempts.ENDS : said;
            }
        });
        attempts.add("noise, or HTTP without TLS", at, () -> {
            try (Stranger plain = Stranger.tcp(port)) {
                String said = plain.say("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        .untilItEnds(SOON);
                return said.isEmpty() ? Attempts.ENDS : said;
            }
        });
        attempts.add("handshake not complete", at, () -> {
            try (Stranger slow = Stranger.tcp(port)) {
                String said = slow.dribble(endpoint.hello(/* proves= */ true)).untilItEnds(SOON);
                return said.isEmpty() ? Attempts.ENDS : said;
            }
        });
        attempts.add("body or message too long", at, () -> {
            try (Socket socket = endpoint.connect()) {
                byte[] hello = endpoint.hello(/* proves= */ true);
                Arrays.fill(hello, SIZE_FIELD, SIZE_FIELD + 2, (byte) 0xff);
                socket.getOutputStream().write(hello);
                return verdict(socket.getInputStream());
            }
        });
        attempts.add("one connection too many", at, () -> beyond(port));
        ForeignNode node = node(allowed);
        GrantContent.Range range = attach(node, called);
        attempts.add("handshake or proof sent again", at, () -> replay(node, called, range));
        attempts.add("forged rkey", at, () -> {
            node.link(called);
            return node.read(range.address().value(), key(range) + 1, PAGE).toString();
        });
        attempts.add("rkey of an attachment that has ended", at, () -> {
            node.link(called);
            node.detach("on-" + called);
            return node.read(range.address().value(), key(range), PAGE).toString();
        });
        attempts.add("node outside `link.allowed_peers`", at, () -> {
            node(outside).offer(called);
            // The line in the log comes after that, and the answer would have come before it.
            return "no link";
        });
    }

    private ForeignNode node(String id) throws Exception {
        ForeignNode before = nodes.get(id);
        if (before != null) {
            return before;
        }
        certificates.node(id);
        Optional<Tls> tls = Optional.of(certificates.tls(id));
        CoordinatorClient client = new CoordinatorClient(
                cluster.coordinator().rest().base(), Duration.ofSeconds(10), new Allegiance(), Credentials.of(tls));
        clients.add(client);
        ForeignNode node = new ForeignNode(client, id, tls);
        nodes.put(id, node);
        return node;
    }

    private GrantContent.Range attach(ForeignNode node, String home) throws Exception {
        String space = "on-" + home;
        cluster.makeSpace(space, 4, PAGE, home);
        node.attach(space);
        return node.awaitGrant(home, cluster.client().space(space).orElseThrow().id());
    }

    private static int key(GrantContent.Range range) {
        return (int) range.keys().getFirst().rkey();
    }

    private static byte[] concat(byte[] first, byte[] second) {
        return ByteBuffer.allocate(first.length + second.length)
                .put(first)
                .put(second)
                .array();
    }

    private static String verdict(InputStream in) throws IOException {
        byte[] reply = in.readNBytes(REPLY);
        return reply.length == REPLY ? VERDICTS.get(ByteBuffer.wrap(reply).getShort(SIZE_FIELD)) : Attempts.ENDS;
    }

    /** Says hello and shows a proof. */
    private static String prove(StolenEndpoint endpoint, byte[] hello, byte[] proof) throws IOException {
        try (Socket socket = endpoint.connect()) {
            socket.getOutputStream().write(hello);
            String first = verdict(socket.getInputStream());
            if (!first.equals(PROVE)) {
                return first;
            }
            socket.getInputStream().readNBytes(NONCE + PROOF);
            socket.getOutputStream().write(proof);
            return verdict(socket.getInputStream());
        }
    }

    /** The handshake of a linked node, sent again while its queue pair is open. */
    private String replay(ForeignNode node, String called, GrantContent.Range range) throws Exception {
        StolenEndpoint any = StolenEndpoint.of(cluster.client(), called, called.equals("a") ? "b" : "a");
        // A link is made anew if it fails, as the first one of this process does when libssl takes long to load.
        String read = "";
        for (int i = 0; i < LINKS && !read.equals(SUCCESS); i++) {
            node.link(called);
            read = node.read(range.address().value(), key(range), PAGE).toString();
        }
        try (Recorder recorder = new Recorder(any.victim().port().orElseThrow())) {
            node.link(called, OptionalInt.of(recorder.port()));
            read = node.read(range.address().value(), key(range), PAGE).toString();
            if (!read.equals(SUCCESS)) {
                return "the recorded connection: " + read;
            }
            byte[] sent = recorder.sent();
            return prove(
                    any,
                    Arrays.copyOf(sent, HELLO + NONCE),
                    Arrays.copyOfRange(sent, HELLO + NONCE, HELLO + NONCE + PROOF));
        }
    }

    /** From an address of its own, whose oldest connection ends. */
    private static String beyond(int port) throws IOException {
        List<Socket> held = new ArrayList<>();
        try {
            for (int i = 0; i <= HANDSHAKES; i++) {
                held.add(new Socket(InetAddress.getLoopbackAddress(), port, InetAddress.getByName("127.0.0.5"), 0));
            }
            held.getFirst().setSoTimeout((int) Deadlines.of(Deadlines.SHORT).toMillis());
            return Attempts.end(held.getFirst());
        } finally {
            for (Socket socket : held) {
                socket.close();
            }
        }
    }

    @Override
    public void close() {
        nodes.values().forEach(ForeignNode::close);
        clients.forEach(CoordinatorClient::close);
    }
}
