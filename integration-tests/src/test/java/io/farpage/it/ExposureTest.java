package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.RefusedAgent;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs without certificates serve loopback only, unless they are told that this is insecure. */
@Tag("portable")
class ExposureTest {
    @TempDir
    Path directory;

    private List<String> coordinator(String... settings) {
        List<String> arguments = new ArrayList<>(List.of("run", "-D", "store.directory=" + directory.resolve("store")));
        for (String setting : settings) {
            arguments.addAll(List.of("-D", setting));
        }
        return arguments;
    }

    private ChildJvm startCoordinator(String... settings) {
        return ChildJvm.start("coordinator", io.farpage.coordinator.Main.class, coordinator(settings));
    }

    private static Map<String, String> agent(String... settings) {
        Map<String, String> all = new LinkedHashMap<>(Map.of(
                "node.id", "x",
                "pool.exported", "2MiB",
                "pool.staging", "2MiB",
                "pool.hugepages", "off",
                "coordinator.url", "http://127.0.0.1:1"));
        for (String setting : settings) {
            int equals = setting.indexOf('=');
            all.put(setting.substring(0, equals), setting.substring(equals + 1));
        }
        return all;
    }

    private static ChildJvm startAgent(String... settings) {
        List<String> arguments = new ArrayList<>(List.of("run"));
        agent(settings).forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        return ChildJvm.start("agent", io.farpage.agent.Main.class, arguments);
    }

    private String refusedCoordinator(String... settings) {
        Command run = Command.coordinator(coordinator(settings));
        assertEquals(1, run.code(), run.out() + run.err());
        return run.err();
    }

    private static String refusedAgent(String... settings) {
        return String.join("\n", RefusedAgent.open(Optional.empty(), Map.of(), agent(settings)));
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
            String said = refusedCoordinator("server.listen=" + address);
            assertTrue(
                    said.contains("coordinator: server.listen: '" + address
                            + "' is not a loopback address, and there is no authentication without TLS; set"
                            + " tls.certificate"),
                    said);
            assertTrue(said.contains("or insecure: true"), said);
        }
        String both = refusedAgent("api.listen=0.0.0.0:0", "tcp.address=192.0.2.1");
        assertTrue(both.contains("api.listen: '0.0.0.0:0' is not a loopback address"), both);
        assertTrue(both.contains("tcp.address: '192.0.2.1' is not a loopback address"), both);
    }

    @Test
    @Tag("processes")
    void shouldServeThemAndWarnIfToldThatItIsInsecure() {
        assertServes(startCoordinator("server.listen=0.0.0.0:0", "insecure=true"), "0.0.0.0");
        assertServes(startAgent("api.listen=0.0.0.0:0", "insecure=true"), "0.0.0.0");
    }

    @Test
    @Tag("processes")
    void shouldServeLoopbackWithoutAWord() {
        try (ChildJvm child = startCoordinator("server.listen=127.0.0.9:0")) {
            await("the program listens", Deadlines.LONG)
                    .until(() -> child.out().contains("listening on http://127.0.0.9:"));
            assertFalse((child.out() + child.err()).contains("insecure"), child.err());
        }
    }

    @Test
    void shouldNameWhatIsMissingOfCertificates() {
        String said = refusedCoordinator("server.listen=0.0.0.0:0", "tls.certificate=/nowhere/c.pem");
        assertTrue(
                said.contains("tls.key and tls.ca is not set: TLS takes tls.certificate, tls.key and tls.ca together"),
                said);
        String lost = refusedCoordinator(
                "server.listen=0.0.0.0:0",
                "tls.certificate=/nowhere/c.pem",
                "tls.key=/nowhere/c.key",
                "tls.ca=/nowhere/ca.pem");
        assertTrue(lost.contains("coordinator: TLS: /nowhere/ca.pem does not exist"), lost);
        String bare = refusedAgent("coordinator.url=https://127.0.0.1:1");
        assertTrue(bare.contains("coordinator.url: 'https://127.0.0.1:1' is not valid without tls.certificate"), bare);
    }
}
