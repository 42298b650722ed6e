package io.farpage.it;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.farpage.agent.control.grant.GrantContent;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Detachment;
import io.farpage.it.harness.Agent;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.ForeignNode;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.TwoNodes;
import io.farpage.verbs.WcStatus;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A node that is linked with a home and holds the key of one space reaches that space, byte for byte, and nothing else;
 * and nothing once it is detached. It is a soft device of the test's own that posts any address with any key.
 */
@Tag("portable")
@ExtendWith(TwoNodes.class)
final class GrantedAccessTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 4;
    /** Before the detachment. */
    private static final int READS = 101;

    private static final int LENGTH = PAGES * PAGE;

    private static long makeSpace(Cluster cluster, String name, long seed) throws Exception {
        cluster.makeSpace(name, PAGES, PAGE, "b");
        Agent a = cluster.agent("a");
        for (int page = 0; page < PAGES; page++) {
            a.putPage(name, page, Pages.of(seed, page, PAGE)).expect(204);
        }
        return cluster.client().space(name).orElseThrow().id();
    }

    private static void requireContent(Cluster cluster, String space, long seed) {
        for (int page = 0; page < PAGES; page++) {
            assertArrayEquals(
                    Pages.of(seed, page, PAGE),
                    cluster.agent("a").page(space, page).expect(200).body());
        }
    }

    private static void refuse(ForeignNode node, String what, long address, int rkey, int length) throws Exception {
        node.link("b");
        node.memory().fill((byte) 0x5a);
        assertEquals(WcStatus.REM_ACCESS_ERR, node.read(address, rkey, length), "READ " + what);
        for (long i = 0; i < ForeignNode.BYTES; i++) {
            assertEquals(0x5a, node.memory().get(JAVA_BYTE, i), "bytes of a READ " + what);
        }
        node.link("b");
        assertEquals(WcStatus.REM_ACCESS_ERR, node.write(address, rkey, length), "WRITE " + what);
    }

    @Test
    void shouldReachNothingOutsideOfASpaceWithTheKeyOfThatSpace(Cluster cluster) throws Exception {
        long before = makeSpace(cluster, "granted-before", 1);
        long mine = makeSpace(cluster, "granted", 2);
        long behind = makeSpace(cluster, "granted-behind", 3);
        try (ForeignNode node = new ForeignNode(cluster.client(), "z-reach")) {
            node.attach("granted");
            GrantContent.Range range = node.awaitGrant("b", mine);
            long granted = range.length();
            assertEquals(LENGTH + PAGE, granted, "the pages of the guest, and one of the presence map");
            assertEquals(Optional.empty(), node.grant("b", before));
            assertEquals(Optional.empty(), node.grant("b", behind));
            long address = range.address().value();
            int rkey = (int) range.keys().getFirst().rkey();

            node.link("b");
            assertEquals(WcStatus.SUCCESS, node.read(address, rkey, LENGTH));
            for (int page = 0; page < PAGES; page++) {
                assertArrayEquals(
                        Pages.of(2, page, PAGE),
                        node.memory().asSlice((long) page * PAGE, PAGE).toArray(JAVA_BYTE));
            }
            node.memory().asSlice(0, PAGE).copyFrom(java.lang.foreign.MemorySegment.ofArray(Pages.of(2, 9, PAGE)));
            assertEquals(WcStatus.SUCCESS, node.write(address + PAGE, rkey, PAGE));
            assertArrayEquals(
                    Pages.of(2, 9, PAGE),
                    cluster.agent("a").page("granted", 1).expect(200).body());
            assertEquals(WcStatus.SUCCESS, node.read(address + LENGTH - 1, rkey, 1));

            refuse(node, "one byte before", address - 1, rkey, 1);
            refuse(node, "one byte before and the first page", address - 1, rkey, PAGE);
            refuse(node, "one byte behind", address + granted, rkey, 1);
            refuse(node, "the last page and one byte behind", address + granted - PAGE, rkey, PAGE + 1);
            for (String other : new String[] {"granted-before", "granted-behind"}) {
                long away = offset(cluster, other) - range.offset();
                refuse(node, "of the space " + other, address + away, rkey, PAGE);
            }
            refuse(node, "with a key one higher", address, rkey + 1, PAGE);
            requireContent(cluster, "granted-before", 1);
            requireContent(cluster, "granted-behind", 3);
        }
        for (String space : new String[] {"granted-before", "granted", "granted-behind"}) {
            cluster.client().deleteSpace(space);
        }
    }

    private static long offset(Cluster cluster, String space) throws Exception {
        return cluster.client()
                .extents(space)
                .orElseThrow()
                .extents()
                .getFirst()
                .primary()
                .offset();
    }

    @Test
    void shouldReadASnapshotWithItsKeyAndNotWriteToIt(Cluster cluster) throws Exception {
        cluster.makeSpace("read-only", PAGES, PAGE, "b");
        byte[] image = new byte[LENGTH];
        for (int page = 0; page < PAGES; page++) {
            System.arraycopy(Pages.of(6, page, PAGE), 0, image, page * PAGE, PAGE);
        }
        cluster.agent("a")
                .rest()
                .send("PUT", "/api/v1/spaces/read-only/memory", "application/octet-stream", image)
                .expect(204);
        long space = cluster.client().makeSnapshot("read-only").id();
        try (ForeignNode node = new ForeignNode(cluster.client(), "z-read-only")) {
            node.attach("read-only");
            GrantContent.Range range = node.awaitGrant("b", space);
            long address = range.address().value();
            int rkey = (int) range.keys().getFirst().rkey();
            node.link("b");
            assertEquals(WcStatus.SUCCESS, node.read(address, rkey, LENGTH));
            assertArrayEquals(image, node.memory().asSlice(0, LENGTH).toArray(JAVA_BYTE));
            node.memory().fill((byte) 0x5a);
            assertEquals(WcStatus.REM_ACCESS_ERR, node.write(address, rkey, PAGE));
            requireContent(cluster, "read-only", 6);
        }
        cluster.client().deleteSpace("read-only");
    }

    @Test
    void shouldGetNothingWithTheOldKeyAsSoonAsTheNodeIsDetached(Cluster cluster) throws Exception {
        long space = makeSpace(cluster, "revoked", 4);
        try (ForeignNode node = new ForeignNode(cluster.client(), "z-revoked")) {
            node.attach("revoked");
            GrantContent.Range first = node.awaitGrant("b", space);
            int old = (int) first.keys().getFirst().rkey();
            node.link("b");
            assertEquals(WcStatus.SUCCESS, node.read(first.address().value(), old, LENGTH));
            node.detach("revoked");
            node.memory().fill((byte) 0x5a);
            assertEquals(WcStatus.REM_ACCESS_ERR, node.read(first.address().value(), old, LENGTH));
            refuse(node, "with the old key", first.address().value(), old, PAGE);
            assertEquals(Optional.empty(), node.grant("b", space));

            node.attach("revoked");
            GrantContent.Range second = node.awaitGrant("b", space);
            assertNotEquals(old, (int) second.keys().getFirst().rkey());
            refuse(node, "with the old key beside the new one", first.address().value(), old, PAGE);
            node.link("b");
            assertEquals(
                    WcStatus.SUCCESS,
                    node.read(
                            second.address().value(),
                            (int) second.keys().getFirst().rkey(),
                            LENGTH));
            requireContent(cluster, "revoked", 4);
        }
        cluster.client().deleteSpace("revoked");
    }

    @Test
    void shouldReadNoWriteAfterTheDetachmentWhileReadsAreUnderWay(Cluster cluster) throws Exception {
        long space = makeSpace(cluster, "under-way", 5);
        CoordinatorClient client = cluster.client();
        try (ForeignNode node = new ForeignNode(client, "z-under-way")) {
            node.attach("under-way");
            GrantContent.Range range = node.awaitGrant("b", space);
            int rkey = (int) range.keys().getFirst().rkey();
            node.link("b");
            byte[] secret = Pages.of(6, 0, PAGE);
            CountDownLatch reading = new CountDownLatch(READS);
            FutureTask<Integer> detaching = new FutureTask<>(() -> {
                reading.await();
                client.detach("under-way", "z-under-way", node.incarnation(), Detachment.PLAIN);
                return cluster.agent("a").putPage("under-way", 0, secret).status();
            });
            Thread.ofPlatform().start(detaching);
            WcStatus status = WcStatus.SUCCESS;
            while (status == WcStatus.SUCCESS) {
                status = node.read(range.address().value(), rkey, PAGE);
                byte[] seen = node.memory().asSlice(0, PAGE).toArray(JAVA_BYTE);
                assertFalse(java.util.Arrays.equals(secret, seen), "a page that was written after the detachment");
                reading.countDown();
            }
            assertEquals(WcStatus.REM_ACCESS_ERR, status);
            assertEquals(0, reading.getCount(), "READs that failed before the detachment");
            assertEquals(204, detaching.get());
        }
        client.deleteSpace("under-way");
    }
}
