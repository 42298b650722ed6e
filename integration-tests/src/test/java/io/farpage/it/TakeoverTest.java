package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ClusterLog;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.PagedRam;
import io.farpage.it.harness.UniformPages;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Node c takes a space over from node a, whose agent stands still and later goes on; node b is its home. */
@NeedsUserfaultfd
@Tag("soak")
class TakeoverTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 512;
    private static final int LOCAL_PAGES = 64;
    private static final int MARK = 0xC0FFEE;
    private static final String SPACE = "vm";

    @SuppressWarnings("NullAway.Init") // set before each test
    private Cluster cluster;

    @RegisterExtension
    final ClusterLog log = new ClusterLog(() -> cluster);

    @TempDir
    private Path directory = Path.of("");

    @BeforeEach
    void start() {
        cluster = Cluster.start();
        Map<String, String> settings = Map.of("fetch.deadline", "1s");
        cluster.launchAgent("a", settings);
        List.of("b", "c").forEach(node -> cluster.openAgent(node, settings));
        cluster.awaitAllLinks();
    }

    @AfterEach
    void end() {
        cluster.close();
    }

    @Test
    void shouldCompleteNoWriteOfTheFormerNodeAfterTheTakeover() throws Exception {
        guests("a").attach(SPACE, directory.resolve("a"), (long) PAGES * PAGE, (long) LOCAL_PAGES * PAGE);
        try (PagedRam former = PagedRam.handOver(directory.resolve("a"), PAGES);
                UniformPages writer = UniformPages.start(former, PAGES)) {
            writer.awaitRounds(3);
            assertRefused("c", "renews its lease");
            // Pages are on their way home at every moment, so WRITEs of a are under way when it stands still.
            cluster.process("a").process().stop();
            awaitStatus("a", NodeStatus.FAILED);
            assertTrue(attach("c", "\"force\": true").problem().is("attached"));

            String said = takeOver("c");
            assertTrue(said.contains("listening on"), said);
            assertEquals(
                    List.of("c"),
                    cluster.client().attachments(SPACE).stream()
                            .map(Attachment::node)
                            .toList());
            try (PagedRam ram = PagedRam.handOver(directory.resolve("c"), PAGES)) {
                for (int page = 0; page < PAGES; page++) {
                    assertTrue(UniformPages.isUniform(ram.read(page)), "page " + page + " is of two writes");
                }
                for (int page = 0; page < PAGES; page++) {
                    ram.write(page, content(page));
                }
                assertEquals(List.of(), wrong(ram));

                cluster.process("a").process().resume();
                await("a has cut its guest off", Deadlines.LONG)
                        .until(() -> cluster.coordinator()
                                .rest()
                                .get("/api/v1/nodes/b/hosted")
                                .expect(200)
                                .json()
                                .get("fences")
                                .isEmpty());
                assertTrue(
                        cluster.process("a").process().err().contains("was taken over from incarnation"),
                        cluster.process("a").process().err());
                writer.awaitRefusal();
                assertEquals(List.of(), wrong(ram));
            }
        }
        awaitStatus("a", NodeStatus.ACTIVE);
    }

    private static byte[] content(int page) {
        byte[] bytes = new byte[PAGE];
        ByteBuffer.wrap(bytes).putInt(MARK).putInt(page).putInt(PAGE - Integer.BYTES, page ^ MARK);
        return bytes;
    }

    /** Numbers of the pages that do not hold what c's guest wrote. */
    private static List<Integer> wrong(PagedRam ram) {
        List<Integer> wrong = new ArrayList<>();
        for (int page = 0; page < PAGES; page++) {
            if (!ByteBuffer.wrap(content(page)).equals(ByteBuffer.wrap(ram.read(page)))) {
                wrong.add(page);
            }
        }
        return wrong;
    }

    private void assertRefused(String node, String reason) {
        Answer refused = attach(node, "\"force\": true, \"takeover\": true");
        assertEquals(409, refused.status(), refused::toString);
        assertTrue(refused.problem().detail().contains(reason), refused::toString);
    }

    private Answer attach(String node, String how) {
        return guests(node)
                .tryAttach(SPACE, "{\"socket\": \"%s\", %s}".formatted(directory.resolve("refused-" + node), how));
    }

    /** The command of the documentation. */
    private String takeOver(String node) {
        List<String> arguments = List.of(
                "attach",
                "--takeover",
                "--force",
                "--agent",
                cluster.agent(node).rest().base().toString(),
                "--space",
                SPACE,
                "--local",
                LOCAL_PAGES * PAGE / 1024 + "KiB",
                "--socket",
                directory.resolve(node).toString());
        return Command.agent(arguments).done().out();
    }

    private Guests guests(String node) {
        return new Guests(cluster, node, "b");
    }

    private void awaitStatus(String node, NodeStatus status) {
        await(node + " " + status, Deadlines.LONG)
                .pollInterval(Duration.ofMillis(100))
                .until(() -> cluster.client().node(node).orElseThrow().status() == status);
    }
}
