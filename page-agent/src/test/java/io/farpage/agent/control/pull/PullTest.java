package io.farpage.agent.control.pull;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.shard.KeyUse;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.coordinator.model.ExtentEpoch;
import java.util.List;
import org.junit.jupiter.api.Test;

class PullTest {
    private static final int CHUNK = 8192;

    private final Pull pull = new Pull(
            new Pull.Key(7, new ExtentEpoch(0, 3)),
            new Pull.Target(4096, 2 * CHUNK + 4096, CHUNK),
            KeyUse.PULL,
            List.of(new Pull.Source(new PeerLink("b"), 1, 0), new Pull.Source(new PeerLink("c"), 2, 4096)));

    private int begin() {
        int chunk = pull.next();
        if (chunk != Pull.NONE) {
            pull.begin(chunk);
        }
        return chunk;
    }

    @Test
    void shouldBeCopiedWhenEachChunkHasArrivedOnce() {
        assertEquals(List.of(0, 1, 2, Pull.NONE), List.of(begin(), begin(), begin(), begin()));
        assertEquals(4096, pull.target().bytes(2), "the last chunk is shorter");
        assertEquals(2 * CHUNK + 4096, pull.leftBytes());
        assertFalse(pull.arrived());
        assertFalse(pull.arrived());
        assertEquals(CHUNK, pull.leftBytes(), "the last chunk counts as a whole one");
        assertFalse(pull.isCopied());
        assertTrue(pull.arrived());
        assertTrue(pull.isCopied());
    }

    @Test
    void shouldAskAgainForAChunkThatHasNotArrived() {
        assertEquals(List.of(0, 1), List.of(begin(), begin()));
        pull.failed(0, 5);
        assertEquals(List.of(0, 2, Pull.NONE), List.of(begin(), begin(), begin()));
        pull.failed(1, 6);
        pull.failed(2, 6);
        assertEquals(List.of(1, 2, Pull.NONE), List.of(begin(), begin(), begin()));
    }

    @Test
    void shouldBeBlockedFromTheFirstFailureUntilAChunkArrives() {
        begin();
        assertFalse(pull.isBlockedFor(0, 100));
        pull.failed(0, 10);
        pull.failed(0, 50);
        assertTrue(pull.isBlockedFor(80, 100));
        assertFalse(pull.isBlockedFor(95, 100));
        assertTrue(pull.obstacle().contains("'b' (no link)"), pull.obstacle());
        pull.arrived();
        assertFalse(pull.isBlockedFor(0, 1000));
    }

    @Test
    void shouldReadFromNoHomeThatIsNotLinked() {
        assertEquals(null, pull.readable(0));
    }

    @Test
    void shouldOverlapTheRangesThatItIsWrittenTo() {
        Pull.Target target = pull.target();
        assertTrue(target.overlaps(0, 4097));
        assertFalse(target.overlaps(0, 4096));
        assertTrue(target.overlaps(4096 + 2 * CHUNK + 4095, 1));
        assertFalse(target.overlaps(4096 + 2 * CHUNK + 4096, 1));
    }
}
