package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Role;
import io.farpage.coordinator.Main;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Attachment;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Certificates;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.JvmLog;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.Rest;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Spaces for some nodes only, in a cluster with certificates whose nodes create no spaces. Node b is the home. */
@Tag("portable")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SpaceAccessTest {
    private static final int PAGE = 4096;

    private final Path directory;
    private final Certificates certificates;
    private final JvmLog jvmLog = new JvmLog();
    private final Cluster cluster;

    @RegisterExtension
    final ClusterLog log;

    SpaceAccessTest(@TempDir Path directory) {
        this.directory = directory;
        certificates = new Certificates(directory.resolve("ca"));
        cluster = Cluster.secured(certificates, Map.of("access.nodes_create_spaces", "false"), "a", "b", "c");
        certificates.as(Role.OPERATOR, coordinator());
        log = new ClusterLog(() -> cluster);
    }

    @AfterAll
    void close() {
        cluster.close();
        jvmLog.close();
    }

    @AfterEach
    void deleteTheSpace() {
        operator().send("DELETE", "/api/v1/spaces/s?force=true", "", new byte[0]);
        await("the space is gone", Deadlines.LONG)
                .until(() -> cluster.client().space("s").isEmpty());
    }

    private Rest coordinator() {
        return cluster.coordinator().rest();
    }

    private Rest as(String name) {
        return coordinator().with(certificates.tls(name));
    }

    private Rest operator() {
        return as("operator");
    }

    /** Runs a command with an operator's certificate and returns what it prints. */
    private String space(String... arguments) {
        List<String> all = new ArrayList<>(List.of("space"));
        all.addAll(List.of(arguments));
        all.addAll(List.of("--coordinator", coordinator().base().toString()));
        all.addAll(certificate());
        return Command.coordinator(all).done().out();
    }

    private List<String> certificate() {
        return List.of(
                "--ca", certificates.file("ca.pem").toString(),
                "--certificate", certificates.file("operator.pem").toString(),
                "--key", certificates.file("operator.key").toString());
    }

    /** As {@link #space}, in a process that has the coordinator's URL and the certificate in its environment. */
    private void process(List<String> arguments) {
        Map<String, String> environment = Map.of(
                "FARPAGE_COORDINATOR_URL", coordinator().base().toString(),
                "FARPAGE_TLS_CA", certificates.file("ca.pem").toString(),
                "FARPAGE_TLS_CERTIFICATE", certificates.file("operator.pem").toString(),
                "FARPAGE_TLS_KEY", certificates.file("operator.key").toString());
        try (ChildJvm child = ChildJvm.start("command", Main.class, arguments, environment)) {
            assertEquals(0, child.awaitEnd(), child.out() + child.err());
        }
    }

    private void create(String nodes) {
        String made = space("create", "s", "--size", "512KiB", "--home", "b", "--nodes", nodes);
        assertTrue(made.contains("nodes that may attach it: " + nodes.replace(",", ", ")), made);
    }

    private static void assertRefused(String word, String detail, Answer answer) {
        assertEquals(403, answer.status(), answer.toString());
        assertTrue(answer.problem().is(word), answer.toString());
        assertTrue(answer.problem().detail().contains(detail), detail + " in " + answer);
    }

    private void awaitLogged(String... parts) {
        await("a line with " + List.of(parts), Deadlines.LONG).untilAsserted(() -> {
            List<String> said = jvmLog.lines();
            assertTrue(
                    said.stream().anyMatch(line -> List.of(parts).stream().allMatch(line::contains)),
                    List.of(parts) + " in " + said);
        });
    }

    private Set<String> attached() throws CoordinatorException {
        return cluster.client().attachments("s").stream().map(Attachment::node).collect(Collectors.toSet());
    }

    @Test
    void shouldServePagesOnlyThroughTheNodesOnTheList() throws Exception {
        create("a,b");
        byte[] page = Pages.of(1, 3, PAGE);
        cluster.agent("a").putPage("s", 3, page).expect(204);
        assertRefused(
                "node-not-allowed",
                "node 'c' may not attach space 's'",
                cluster.agent("c").page("s", 3));
        awaitLogged(
                "refused: PUT /api/v1/spaces/",
                "node 'c'",
                "its list of nodes is a,b; an operator changes it: coordinator space allow s --nodes a,b,c");
        Answer guest = new Guests(cluster, "c", "b")
                .tryAttach("s", "{\"socket\": \"%s\", \"localBytes\": 262144}".formatted(directory.resolve("socket")));
        assertRefused("node-not-allowed", "coordinator space allow s", guest);
        assertEquals(Set.of("a"), attached());

        space("allow", "s", "--all");
        assertArrayEquals(page, cluster.agent("c").page("s", 3).expect(200).body());
    }

    @Test
    void shouldEndTheSharedUseOfANodeThatIsTakenOffTheList() throws Exception {
        create("a,c");
        byte[] page = Pages.of(1, 3, PAGE);
        cluster.agent("a").putPage("s", 3, page).expect(204);
        String changed = space("allow", "s", "--nodes", "c");
        assertTrue(changed.contains("nodes that may attach it: c"), changed);
        await("a has detached", Deadlines.LONG).until(() -> attached().isEmpty());
        assertRefused(
                "node-not-allowed",
                "its list of nodes is c;",
                cluster.agent("a").page("s", 3));
        assertArrayEquals(page, cluster.agent("c").page("s", 3).expect(200).body());
    }

    @Test
    void shouldLeaveAGuestItsSpaceAndSaySoWhenItsNodeIsUnlisted() throws Exception {
        create("a,c");
        Guests guests = new Guests(cluster, "a", "b");
        String guest = "{\"socket\": \"%s\", \"localBytes\": 262144}".formatted(directory.resolve("socket"));
        guests.tryAttach("s", guest).expect(200);
        String changed = space("allow", "s", "--nodes", "c");
        assertTrue(
                changed.contains("node a is attached and stays so until it detaches: when its guest has ended"),
                changed);
        assertEquals(Set.of("a"), attached());
        guests.forget("s");
        await("a has detached", Deadlines.LONG).until(() -> attached().isEmpty());
        assertRefused("node-not-allowed", "its list of nodes is c;", guests.tryAttach("s", guest));
    }

    @Test
    void shouldTakeNoChangeOfTheListFromANode() {
        create("b");
        for (String node : List.of("a", "b")) {
            assertRefused(
                    "forbidden",
                    "it takes role operator",
                    as(node).sendJson("PUT", "/api/v1/spaces/s/nodes", "{\"nodes\":[\"a\"]}"));
        }
        List<String> show = new ArrayList<>(List.of(
                "space",
                "show",
                "--space",
                "s",
                "--agent",
                cluster.agent("a").rest().base().toString()));
        show.addAll(certificate());
        String shown = Command.agent(show).done().out();
        assertTrue(shown.contains("nodes that may attach it: b"), shown);
    }

    @Test
    @Tag("processes")
    void shouldNameTheOperatorsCommandForASpaceThatANodeMayNotCreate() {
        Answer refused = cluster.agent("a")
                .rest()
                .sendJson("POST", "/api/v1/spaces", "{\"name\":\"s\",\"sizeBytes\":65536,\"homes\":[\"b\"]}");
        assertRefused("forbidden", "it takes role operator (access.nodes_create_spaces is false)", refused);
        String command = "coordinator space create s --size 65536 --page-size 4096 --home b";
        assertTrue(refused.problem().detail().endsWith("an operator creates it: " + command), refused.toString());
        process(List.of(command.split(" ")).subList(1, command.split(" ").length));
        cluster.agent("a").putPage("s", 3, Pages.of(1, 3, PAGE)).expect(204);
    }

    @Test
    void shouldTakeHeatOnlyFromNodesThatTheSpaceConcerns() {
        create("a");
        String heat = "{\"ranges\":[{\"firstPage\":0,\"count\":4,\"heat\":7}]}";
        for (String node : List.of("a", "c")) {
            assertRefused(
                    "forbidden",
                    "node '%s' is neither attached to space 's' nor a home of it".formatted(node),
                    as(node).sendJson("POST", "/api/v1/spaces/s/heat", heat));
        }
        awaitLogged("refused: POST /api/v1/spaces/s/heat from 127.0.0.1, node 'c'");
        as("b").sendJson("POST", "/api/v1/spaces/s/heat", heat).expect(204);
        cluster.agent("a").putPage("s", 3, Pages.of(1, 3, PAGE)).expect(204);
        as("a").sendJson("POST", "/api/v1/spaces/s/heat", heat).expect(204);
    }
}
