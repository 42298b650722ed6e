package io.farpage.coordinator.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.rest.Json;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("portable")
class ModelTest {
    private static final HeaderPage HEADER = new HeaderPage(new RemoteAddress(0x7f00_0000_0000L), 0xffff_ffffL);

    private static String refusal(Runnable action) {
        return String.valueOf(
                assertThrows(IllegalArgumentException.class, action::run).getMessage());
    }

    @Test
    void shouldReadGidsAsTextAndAsHexDigitsAndWriteText() {
        assertEquals(
                "fe80::1", Gid.parse("fe80000000000000" + "0000000000000001").toString());
        assertEquals("::ffff:10.0.0.2", Gid.parse("::ffff:10.0.0.2").toString());
        assertEquals("::ffff:10.0.0.2", Gid.parse("::ffff:0a00:0002").toString());
        assertEquals("2001:db8:0:1:1:1:1:1", Gid.parse("2001:0DB8:0:1:1:1:1:1").toString());
        assertEquals("::", Gid.ZERO.toString());
        assertEquals("1::", Gid.parse("1:0:0:0:0:0:0:0").toString());
    }

    @Test
    void shouldRefuseGidsThatAreNeither() {
        for (String wrong : List.of(
                "",
                ":",
                ":::",
                "1:2",
                "fe80::1::2",
                "10.0.0.1",
                "::ffff:10.0.0.256",
                "1.2.3.4::",
                "g::",
                "12345::",
                "1:2:3:4:5:6:7:8:9",
                "1:2:3:4:5:6:7::8:9",
                "localhost",
                "fe80::1%eth0",
                "f".repeat(31))) {
            assertTrue(refusal(() -> Gid.parse(wrong)).contains("'" + wrong + "'"), wrong);
        }
    }

    @Test
    void shouldReadWhatItWritesForAnyGidAndAgreeWithTheJdk() throws UnknownHostException {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = new byte[16];
            for (int b = 0; b < 16; b++) {
                bytes[b] = (byte) (random.nextInt(3) == 0 ? random.nextInt(256) : 0);
            }
            Gid gid = Gid.ofBytes(bytes);
            assertEquals(gid, Gid.parse(gid.toString()), () -> "seed " + seed);
            if (!gid.toString().contains(".")) { // the JDK turns those into IPv4 addresses
                assertArrayEquals(bytes, InetAddress.getByName(gid.toString()).getAddress(), () -> "seed " + seed);
            }
        }
    }

    @Test
    void shouldRefuseQueuePairNumbersOutOfRange() {
        assertTrue(refusal(() -> QpEntry.rdma(0, 0, 0x100_0000, 0, Gid.parse("fe80::1"), 0, 1024, HEADER))
                .startsWith("qpn"));
        assertTrue(refusal(() -> QpEntry.rdma(0, 0, 1, 0, Gid.parse("fe80::1"), 0x100_0000, 1024, HEADER))
                .startsWith("psn"));
        assertTrue(refusal(() -> QpEntry.rdma(0, 0, 1, 65536, Gid.parse("fe80::1"), 0, 1024, HEADER))
                .startsWith("lid"));
        assertTrue(refusal(() -> QpEntry.rdma(0, 0, 1, 0, Gid.parse("fe80::1"), 0, 1500, HEADER))
                .startsWith("mtu"));
        assertTrue(refusal(() -> QpEntry.rdma(0, 0, 1, 0, Gid.ZERO, 0, 1024, HEADER))
                .startsWith("lid and gid"));
        assertTrue(refusal(() -> QpEntry.tcp(0, 0, 1, Gid.ZERO, 0, 1024, "h", 0, HEADER))
                .startsWith("port"));
        assertTrue(refusal(() -> new QpEntry(
                        TransportKind.TCP,
                        0,
                        0,
                        1,
                        0,
                        Optional.empty(),
                        0,
                        256,
                        Optional.of("h"),
                        OptionalInt.empty(),
                        HEADER,
                        OptionalInt.empty(),
                        Optional.empty(),
                        OptionalInt.empty()))
                .startsWith("host and port"));
        assertTrue(refusal(() -> new QpEntry(
                        TransportKind.RDMA,
                        0,
                        0,
                        1,
                        7,
                        Optional.empty(),
                        0,
                        256,
                        Optional.of("h"),
                        OptionalInt.of(1),
                        HEADER,
                        OptionalInt.empty(),
                        Optional.empty(),
                        OptionalInt.empty()))
                .startsWith("host and port"));
        QpEntry entry = QpEntry.tcp(0, 0, 1, Gid.ZERO, 0, 1024, "h", 1, HEADER);
        assertTrue(refusal(() -> entry.withMaxRdAtomic(0)).startsWith("maxRdAtomic"));
        assertTrue(refusal(() -> entry.withMaxRdAtomic(256)).startsWith("maxRdAtomic"));
        assertEquals(OptionalInt.of(255), entry.withMaxRdAtomic(255).maxRdAtomic());
        assertTrue(refusal(() -> entry.withMessages(OptionalInt.of(256))).startsWith("messages: 256"));
        assertEquals(OptionalInt.of(1), entry.withMessages(OptionalInt.of(1)).messages());
    }

    @Test
    void shouldCheckWhatADeviceMayReach() {
        Fabric fabric = Fabric.of("ETHERNET", Optional.of("10.0.0.0/16"));
        QpEntry entry = QpEntry.rdma(0, 0, 1, 0, Gid.parse("fe80::1"), 0, 1024, HEADER);
        assertEquals(Optional.of(fabric), entry.withFabric(Optional.of(fabric)).fabric());
        assertTrue(refusal(() ->
                        QpEntry.tcp(0, 0, 1, Gid.ZERO, 0, 1024, "h", 1, HEADER).withFabric(Optional.of(fabric)))
                .startsWith("fabric: a tcp entry"));
        assertTrue(refusal(() -> Fabric.of(" ", Optional.empty())).startsWith("linkLayer"));
        assertTrue(refusal(() -> Fabric.of("ETHERNET", Optional.of(""))).startsWith("subnet"));
        assertTrue(refusal(() -> fabric.avoiding(List.of(64))).startsWith("avoids: 64"));
        assertTrue(refusal(() -> fabric.connectedTo(-1)).startsWith("peerRail: -1"));
        assertEquals(OptionalInt.of(63), fabric.connectedTo(63).peerRail());
    }

    @Test
    void shouldRefuseTwoEntriesForOneQueuePair() {
        QpEntry entry = QpEntry.tcp(1, 2, 3, Gid.ZERO, 4, 4096, "h", 5, HEADER);
        Incarnation incarnation = new Incarnation(-1);
        assertTrue(refusal(() -> new EndpointRequest(
                        incarnation,
                        incarnation,
                        Optional.empty(),
                        Optional.empty(),
                        List.of(entry, entry),
                        Optional.empty()))
                .contains("tcp, shard 1, rail 2"));
    }

    @Test
    void shouldWriteIncarnationsAsSixteenHexDigits() {
        assertEquals("\"ffffffffffffffff\"", Json.STRICT.writeValueAsString(new Incarnation(-1)));
        assertEquals(new Incarnation(10), Json.STRICT.readValue("\"000000000000000A\"", Incarnation.class));
        for (String wrong : List.of("", "1", "-000000000000001", "00000000000000000", "000000000000000g")) {
            assertTrue(refusal(() -> Incarnation.parse(wrong)).contains("16 hex digits"), wrong);
        }
    }

    @Test
    void shouldRefuseAKeyOfMoreThan32Bits() {
        RemoteAddress address = new RemoteAddress(4096);
        assertTrue(refusal(() -> new HeaderPage(address, 1L << 32)).startsWith("header: rkey"));
        assertTrue(refusal(() -> new HeaderPage(address, -1)).startsWith("header: rkey"));
    }

    @Test
    void shouldGiveBackEveryFieldThroughJson() {
        Endpoint endpoint = new Endpoint(
                "a",
                "b",
                new Incarnation(1),
                new Incarnation(2),
                Optional.of(new Attempt(3)),
                Optional.empty(),
                List.of(
                        QpEntry.tcp(0, 0, 1, Gid.ZERO, 2, 1024, "::1", 3, HEADER),
                        QpEntry.rdma(0, 1, 1, 2, Gid.parse("fe80::1"), 2, 1024, HEADER)
                                .withMaxRdAtomic(16)),
                Optional.of(new TrialOffer(
                        new Attempt(8),
                        Optional.of(new Attempt(9)),
                        true,
                        List.of(QpEntry.rdma(0, 0, 4, 2, Gid.parse("fe80::1"), 2, 1024, HEADER)))),
                7);
        assertEquals(endpoint, Json.LENIENT.readValue(Json.STRICT.writeValueAsString(endpoint), Endpoint.class));
    }

    @Test
    void shouldAcceptAnEventOfUnknownKind() {
        Event event = Json.LENIENT.readValue("{\"index\":1,\"kind\":\"from-the-future\",\"more\":1}", Event.class);
        assertEquals(EventKind.UNKNOWN, event.kind());
    }
}
