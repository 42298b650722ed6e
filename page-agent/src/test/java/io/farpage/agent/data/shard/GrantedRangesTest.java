package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.shard.GrantedRanges.Range;
import io.farpage.verbs.QueuePair;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Which ranges of a home a link may use, and what becomes of transfers without one. */
final class GrantedRangesTest extends ShardFixture {
    private static final GrantedRanges THREE = GrantedRanges.of(List.of(
            new Range(0x5000, 0x1000, 0x95000, 5), new Range(0x1000, 0x2000, 0x71000, 1), new Range(0x3000, 1, 8, 3)));

    @Test
    void shouldFindTheRangeOfEveryByteWhateverTheHint() {
        for (int hint = -1; hint <= 3; hint++) {
            assertEquals(0, THREE.find(0x1000, 0x2000, hint));
            assertEquals(0, THREE.find(0x2fff, 1, hint));
            assertEquals(1, THREE.find(0x3000, 1, hint));
            assertEquals(2, THREE.find(0x5000, 0x1000, hint));
        }
        assertEquals(0x71fff, THREE.address(0, 0x1fff));
        assertEquals(5, THREE.rkey(2));
    }

    @Test
    void shouldFindNothingThatReachesOneByteBeyondARange() {
        for (int hint = -1; hint <= 3; hint++) {
            assertEquals(GrantedRanges.NONE, THREE.find(0xfff, 1, hint));
            assertEquals(GrantedRanges.NONE, THREE.find(0xfff, 2, hint));
            assertEquals(GrantedRanges.NONE, THREE.find(0x1000, 0x2001, hint), "neighbours have different keys");
            assertEquals(GrantedRanges.NONE, THREE.find(0x3000, 2, hint));
            assertEquals(GrantedRanges.NONE, THREE.find(0x5001, 0x1000, hint));
            assertEquals(GrantedRanges.NONE, THREE.find(Long.MAX_VALUE, 1, hint));
            assertEquals(GrantedRanges.NONE, THREE.find(-1, 1, hint));
            assertEquals(GrantedRanges.NONE, THREE.find(Long.MIN_VALUE, Integer.MAX_VALUE, hint));
            assertEquals(GrantedRanges.NONE, THREE.find(0x1000, -1, hint));
        }
    }

    @Test
    void shouldLeaveOutARangeThatWasRefused() {
        GrantedRanges rest = THREE.without(1);
        assertEquals(GrantedRanges.NONE, rest.find(0x3000, 1, 1));
        assertEquals(0, rest.find(0x1000, 1, 1));
        assertEquals(1, rest.find(0x5000, 1, 2));
        assertEquals(5, rest.rkey(1));
    }

    @Test
    void shouldRefuseRangesThatOverlapOrRunPastTheEnd() {
        for (Range wrong : List.of(
                new Range(0x2fff, 1, 0, 0),
                new Range(0x0, 0x1001, 0, 0),
                new Range(0x9000, 0, 0, 0),
                new Range(-1, 1, 0, 0),
                new Range(Long.MAX_VALUE, 1, 0, 0))) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> GrantedRanges.of(List.of(new Range(0x1000, 0x2000, 0x71000, 1), wrong)),
                    wrong.toString());
        }
        assertFalse(new Range(0, 1, 0, 77777).toString().contains("77777"), "a key is not shown");
    }

    private PeerMemory withoutGrants() {
        PeerMemory memory = home.memory();
        return new PeerMemory(
                memory.pool(), memory.headerAddress(), memory.headerRkey(), memory.device(), GrantedRanges.NOTHING);
    }

    private PeerGrants all(long incarnation) {
        return new PeerGrants(incarnation, 1, Map.of(Home.DEVICE, home.memory().granted()));
    }

    @Test
    void shouldParkTransferUntilHomeGrantsItsRange() {
        connect(1, Home.INCARNATION, withoutGrants());
        runUntil(() -> link.phase() == LinkPhase.UP);
        int slot = read(3);
        shard.submit(new ShardCommand.Grant(link, all(Home.INCARNATION + 1)));
        shard.submit(new ShardCommand.Grant(
                link,
                new PeerGrants(
                        Home.INCARNATION, 1, Map.of("other", home.memory().granted()))));
        shard.doWork();
        assertTrue(fetcher.hasParked(), "of another incarnation and of another device");
        shard.submit(new ShardCommand.Grant(link, all(Home.INCARNATION)));
        runUntil(fetcher::hasDone);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.OK, fetcher.status(slot));
    }

    @Test
    void shouldReadForAPullWithNoOtherKeysThanThoseOfAPull() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        Fetcher pulls = shard.newFetcher(1, DEADLINE, KeyUse.PULL);
        int slot = pulls.read(Priority.DEMAND, link, Home.INCARNATION, 3L * PAGE, PAGE, node.pool.stagingAddress());
        assertTrue(pulls.hasParked(), "the keys of an attachment are there");
        DeviceGrants pulled =
                new DeviceGrants(GrantedRanges.NOTHING, home.memory().granted().attachments());
        shard.submit(new ShardCommand.Grant(link, new PeerGrants(Home.INCARNATION, 1, Map.of(Home.DEVICE, pulled))));
        runUntil(pulls::hasDone);
        assertEquals(slot, pulls.poll());
        assertEquals(FetchStatus.OK, pulls.status(slot));
    }

    @Test
    void shouldEndTransferAtDeadlineWhenHomeGrantsNothing() {
        connect(1, Home.INCARNATION, withoutGrants());
        runUntil(() -> link.phase() == LinkPhase.UP);
        int slot = read(3);
        advance(DEADLINE + 1);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.DEADLINE, fetcher.status(slot));
        assertEquals(LinkPhase.UP, link.phase(), "other spaces go on");
    }

    @Test
    void shouldKeepAGrantWhenAnEarlierKeyOfItsRangeIsRefused() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        int slot = read(3);
        runUntil(fetcher::hasDone);
        assertEquals(slot, fetcher.poll());
        int rkey = link.preparedRkey(KeyUse.ATTACHMENT);
        link.grantRefused(KeyUse.ATTACHMENT, 3L * PAGE, PAGE, rkey + 1);
        assertTrue(link.isGranted(KeyUse.ATTACHMENT, 3L * PAGE, PAGE));
        link.grantRefused(KeyUse.ATTACHMENT, 3L * PAGE, PAGE, rkey);
        assertFalse(link.isGranted(KeyUse.ATTACHMENT, 3L * PAGE, PAGE));
    }

    @Test
    void shouldNotUseARefusedKeyAgainAndContinueWithTheNextGrant() {
        connect(1, Home.INCARNATION);
        runUntil(() -> link.phase() == LinkPhase.UP);
        assertEquals(new ShardNotice.Up(link, 1), shard.pollNotice());
        home.renewExported();
        int slot = read(3);
        runUntil(() -> link.phase() == LinkPhase.DRAINING || link.phase() == LinkPhase.DOWN);
        ShardNotice.GrantRefused refused = assertInstanceOf(ShardNotice.GrantRefused.class, shard.pollNotice());
        assertEquals(3L * PAGE, refused.offset());
        destroyReleased();
        QueuePair next = connect(2, Home.INCARNATION, withoutGrants());
        runUntil(() -> link.phase() == LinkPhase.UP);
        advance(TimeUnit.MILLISECONDS.toNanos(500));
        assertEquals(next, link.connection().queuePair());
        assertTrue(fetcher.hasParked(), "the key is not tried again, so that the link stays");
        shard.submit(new ShardCommand.Grant(link, all(Home.INCARNATION)));
        runUntil(fetcher::hasDone);
        assertEquals(slot, fetcher.poll());
        assertEquals(FetchStatus.OK, fetcher.status(slot));
    }
}
