package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Answer;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.FakeAgent;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.TwoNodes;
import io.farpage.pool.header.PoolHeader;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A peer whose pool header is not what it told the coordinator is refused, with the reason, until it is honest. */
@ExtendWith(TwoNodes.class)
@Tag("soak")
class LyingPeerTest {
    private static final int EXPORTED = 16 * 4096;

    /** What can be wrong with a header page. */
    enum Lie {
        OTHER_INCARNATION("has incarnation"),
        OTHER_NODE("is of node \"somebody\""),
        NO_POOL("not a pool");

        private final String says;

        Lie(String says) {
            this.says = says;
        }

        void tell(FakeAgent fake, String node) {
            switch (this) {
                case OTHER_INCARNATION ->
                    new PoolHeader(node, fake.incarnation() + 1, 4096, EXPORTED).writeTo(fake.header());
                case OTHER_NODE ->
                    new PoolHeader("somebody", fake.incarnation(), 4096, EXPORTED).writeTo(fake.header());
                case NO_POOL -> fake.header().fill((byte) 0x5a);
            }
        }
    }

    @Test
    void shouldRefuseTheLinkInOneLineUntilTheHeaderHasTheIncarnation(Cluster cluster) throws Exception {
        requireRefusal(Lie.OTHER_INCARNATION, cluster);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "OTHER_INCARNATION")
    void shouldRefuseTheLinkInOneLineUntilTheHeaderIsTrue(Lie lie, Cluster cluster) throws Exception {
        requireRefusal(lie, cluster);
    }

    private static void requireRefusal(Lie lie, Cluster cluster) throws Exception {
        String node = "liar-" + lie.ordinal();
        AgentProcess a = cluster.process("a");
        try (FakeAgent fake = new FakeAgent(cluster.client(), node, "a")) {
            lie.tell(fake, node);
            fake.start();
            await("two refusals", Deadlines.LONG).until(() -> lines(a, node).count() >= 2);
            assertFalse(a.isLinkedTo(node));
            lines(a, node).forEach(line -> {
                assertTrue(line.contains("the peer is not the node that the coordinator named"), line);
                assertTrue(line.contains(lie.says), line);
            });
            cluster.makeSpace(node, 16, 4096, node);
            Answer refused = a.page(node, 0).expect(504);
            assertTrue(refused.problem().detail().contains(lie.says), refused.toString());

            byte[] page = Pages.of(1, 7, 4096);
            fake.exported().asSlice(7 * 4096, 4096).copyFrom(java.lang.foreign.MemorySegment.ofArray(page));
            new PoolHeader(node, fake.incarnation(), 4096, EXPORTED).writeTo(fake.header());
            await("the link", Deadlines.LONG).until(() -> a.isLinkedTo(node));
            Pages.check(a.page(node, 7).expect(200).body(), 1, 7, 4096);
            // The home grants no remote write: it refuses the write, and the agent does not retry for ever.
            assertEquals(502, a.putPage(node, 7, new byte[4096]).status());
            cluster.client().deleteSpace(node);
        }
    }

    private static Stream<String> lines(AgentProcess agent, String peer) {
        return agent.process().err().lines().filter(line -> line.contains("link to " + peer + " failed"));
    }
}
