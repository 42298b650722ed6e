package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs without certificates serve loopback only, unless they are told that this is insecure. */
@Tag("portable")
class ExposureTest {
    @TempDir
    Path directory;

    private ChildJvm coordinator(String... settings) {
        List<String> arguments = new ArrayList<>(List.of("run", "-D", "store.directory=" + directory.resolve("store")));
        for (String setting : settings) {
            arguments.addAll(List.of("-D", setting));
        }
        return ChildJvm.start("coordinator", io.farpage.coordinator.Main.class, arguments);
    }

    private ChildJvm agent(String... settings) {
        List<String> arguments = new ArrayList<>(List.of(
                "run",
                "--set",
                "node.id=x",
                "--set",
                "pool.exported=2MiB",
                "--set",
                "pool.staging=2MiB",
                "--set",
                "pool.hugepages=off",
                "--set",
                "coordinator.url=http://127.0.0.1:1"));
        for (String setting : settings) {
            arguments.addAll(List.of("--set", setting));
        }
        return ChildJvm.start("agent", io.farpage.agent.Main.class, arguments);
    }

    private static String refused(ChildJvm child) {
        assertEquals(1, child.awaitEnd(), child.out() + child.err());
        return child.err();
    }

    private static void assertServes(ChildJvm child, String address) {
        try (child) {
            await("the log has http://" + address, Deadlines.LONG).untilAsserted(() -> {
                assertTrue(child.out().contains("http://" + address), child.out() + child.err());
            });
            assertTrue(
                    (child.out() + child.err()).contains("is served without TLS and authentication: all that reach it"),
                    child.out() + child.err());
        }
    }

    @Test
    void shouldRefuseToServeOtherAddressesWithoutCertificates() {
        for (String address : List.of("0.0.0.0:0", "[::]:0", "192.0.2.1:0")) {
            String said = refused(coordinator("server.listen=" + address));
            assertTrue(
                    said.contains(
                            "coordinator: server.listen: '" + address
                                    + "' is not a loopback address, and there is no authentication without TLS; set tls.certificate"),
                    said);
            assertTrue(said.contains("or insecure: true"), said);
        }
        String both = refused(agent("api.listen=0.0.0.0:0", "tcp.address=192.0.2.1"));
        assertTrue(both.contains("page-agent: api.listen: '0.0.0.0:0' is not a loopback address"), both);
        assertTrue(both.contains("page-agent: tcp.address: '192.0.2.1' is not a loopback address"), both);
    }

    @Test
    void shouldServeThemAndWarnIfToldThatItIsInsecure() {
        assertServes(coordinator("server.listen=0.0.0.0:0", "insecure=true"), "0.0.0.0");
        assertServes(agent("api.listen=0.0.0.0:0", "insecure=true"), "0.0.0.0");
    }

    @Test
    void shouldServeLoopbackWithoutAWord() {
        try (ChildJvm child = coordinator("server.listen=127.0.0.9:0")) {
            await("the program listens", Deadlines.LONG)
                    .until(() -> child.out().contains("listening on http://127.0.0.9:"));
            assertFalse((child.out() + child.err()).contains("insecure"), child.err());
        }
    }

    @Test
    void shouldNameWhatIsMissingOfCertificates() {
        String said = refused(coordinator("server.listen=0.0.0.0:0", "tls.certificate=/nowhere/c.pem"));
        assertTrue(
                said.contains("tls.key and tls.ca is not set: TLS takes tls.certificate, tls.key and tls.ca together"),
                said);
        String lost = refused(coordinator(
                "server.listen=0.0.0.0:0",
                "tls.certificate=/nowhere/c.pem",
                "tls.key=/nowhere/c.key",
                "tls.ca=/nowhere/ca.pem"));
        assertTrue(lost.contains("coordinator: TLS: /nowhere/ca.pem does not exist"), lost);
        String bare = refused(agent("coordinator.url=https://127.0.0.1:1"));
        assertTrue(
                bare.contains(
                        "page-agent: coordinator.url: 'https://127.0.0.1:1' is not valid without tls.certificate"),
                bare);
    }
}
