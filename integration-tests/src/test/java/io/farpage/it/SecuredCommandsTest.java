package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.coordinator.Main;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.access.Tokens;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Rest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Commands on the host of a cluster with certificates: tokens, files, and what clients show. */
@Tag("portable")
class SecuredCommandsTest extends SecuredNodes {
    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldKnowTokensUntilTheyAreRevokedOrOver() {
        Rest https = coordinator().with(certificates.anonymous());
        String token = token("create", "--name", "ann", "--role", "operator");
        Rest ann = https.with("Authorization", "Bearer " + token);
        ann.get("/api/v1/nodes").expect(200);
        ann.sendJson("POST", "/api/v1/cluster", "{}").expect(403);
        assertTrue(token("list").contains("ann") && !token("list").contains(token));
        token("revoke", "--name", "ann");
        assertRefused(401, "unauthenticated", "token 'ann' was revoked at", ann.get("/api/v1/nodes"));
        awaitLogged(
                () -> ann.get("/api/v1/nodes").expect(401),
                "refused: GET /api/v1/nodes from 127.0.0.1",
                "token 'ann' was revoked at");

        Rest job = https.with("Authorization", "Bearer " + made("job", Role.VIEWER, Optional.of(Duration.ofMillis(1))));
        assertRefused(401, "unauthenticated", "token 'job' expired at", job.get("/api/v1/nodes"));
        for (String wrong : List.of("Bearer farpage_x", "Basic YTpi", "Bearer")) {
            https.with("Authorization", wrong).get("/api/v1/nodes").expect(401);
            // A wrong token is not made good by a certificate.
            as("a").with("Authorization", wrong).get("/api/v1/nodes").expect(401);
        }
        assertTrue(logged().stream().noneMatch(line -> line.contains(token)), "a token in the log");
    }

    /** As the command makes it. */
    private String made(String name, Role role, Optional<Duration> life) {
        return new Tokens(AccessRecords.in(cluster.coordinator().store())).create(name, role, life);
    }

    private String token(String... arguments) {
        List<String> all = new ArrayList<>(List.of("token"));
        all.addAll(List.of(arguments));
        all.addAll(List.of("-D", "store.directory=" + cluster.coordinator().store()));
        return Command.coordinator(all).done().out().strip();
    }

    @Test
    void shouldKeepSecretsReadableByTheirOwnerAlone() throws Exception {
        made("files", Role.VIEWER, Optional.empty());
        try (var files = Files.list(cluster.coordinator().store())) {
            for (Path file : files.toList()) {
                String mode =
                        java.nio.file.attribute.PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
                assertTrue(mode.endsWith("------"), mode + " " + file);
            }
        }
    }

    @Test
    @Tag("processes")
    void shouldLetCommandsShowTokensAndCertificates() throws Exception {
        String token = made("cli", Role.VIEWER, Optional.empty());
        Path tokenFile = Files.writeString(directory.resolve("token"), token + "\n");
        Path inventory = Files.writeString(directory.resolve("inventory.yaml"), "cluster: x\nnodes: [{id: a}]\n");
        List<String> up = List.of(
                "up",
                inventory.toString(),
                "--coordinator",
                coordinator().base().toString(),
                "--ca",
                certificates.file("ca.pem").toString());
        Map<String, String> environment = Map.of("FARPAGE_TOKEN_FILE", tokenFile.toString());
        List<String> guests =
                List.of("guests", "--agent", cluster.agent("a").rest().base().toString());
        Map<String, String> node = Map.of(
                "FARPAGE_TLS_CA", certificates.file("ca.pem").toString(),
                "FARPAGE_TLS_CERTIFICATE", certificates.file("a.pem").toString(),
                "FARPAGE_TLS_KEY", certificates.file("a.key").toString());
        ChildJvm stranger = ChildJvm.start("command", Main.class, up);
        ChildJvm viewer = ChildJvm.start("command", Main.class, up, environment);
        ChildJvm owner = ChildJvm.start("command", io.farpage.agent.Main.class, guests, node);
        assertEnd(stranger, 1, "it has shown neither a client certificate nor a token");
        assertEnd(viewer, 1, "viewer 'cli' (token) may not POST /api/v1/cluster; it takes role admin");
        assertEnd(owner, 0, "SPACE");
    }

    private static void assertEnd(ChildJvm command, int code, String said) {
        assertEquals(code, command.awaitEnd(), command.out() + command.err());
        assertTrue((command.out() + command.err()).contains(said), said + " in " + command.out() + command.err());
    }
}
