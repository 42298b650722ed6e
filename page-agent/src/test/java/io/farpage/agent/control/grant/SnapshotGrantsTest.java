package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.device.FakeRdma;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.device.Transports;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.hugepages.HugepageSize;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a home still grants for a guest's space whose pages are a snapshot's now. */
final class SnapshotGrantsTest {
    private static final int POOL_BYTES = 1 << 20;
    private static final int PAGE = 4096;
    private static final Incarnation HOME = new Incarnation(1);
    private static final Incarnation GUEST = new Incarnation(2);
    private static final long VM = 1;
    private static final long SNAPSHOT = 2;
    private static final long OTHER = 3;

    @TempDir
    private Path directory = Path.of("");

    private TestCoordinator coordinator;
    private PagePool pool;
    private Transports transports;
    private HomeGrants grants;

    @BeforeEach
    void grantToTheGuest() throws PoolException, CoordinatorException {
        coordinator = new TestCoordinator(directory);
        pool = PagePool.open(PoolConfig.of("home", HOME.value(), POOL_BYTES, POOL_BYTES)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        transports =
                Transports.open(TransportMode.AUTO, new FakeRdma("mlx5_0"), FakeRdma.tcp(), pool, System::nanoTime);
        LinkKeys keys = LinkKeys.generate("home", HOME, Optional.empty());
        grants = new HomeGrants(new LocalNode("home", HOME, pool, coordinator.client(), keys), transports);
        grants.follow(hosted(List.of(space(VM, 0)), exclusive("guest", GUEST)));
        grants.grantAll();
        assertEquals(1, ranges());
    }

    @AfterEach
    void close() {
        transports.close();
        pool.close();
        coordinator.close();
    }

    private int ranges() {
        return transports.devices().getFirst().exportedRanges();
    }

    private boolean isGranted() {
        return grants.isGranted(0, PAGE);
    }

    private static Hosted hosted(List<SpaceExtents> spaces, Attachment... attached) {
        return new Hosted(
                10,
                spaces,
                List.of(),
                List.of(attached).stream()
                        .map(each -> HostedAttachment.of(each, 0))
                        .toList(),
                List.of(),
                List.of());
    }

    /** A page of a space, in a page of the pool. */
    private SpaceExtents space(long id, int at) {
        Space space = new Space(id, "space" + id, PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false);
        ExtentHome home = new ExtentHome("home", new Incarnation(pool.id()), (long) at * PAGE);
        return new SpaceExtents(
                id == SNAPSHOT ? space.withSnapshot(Instant.EPOCH) : space,
                10,
                List.of(new Extent(0, 1, List.of(home), ExtentState.OK)));
    }

    private static Attachment exclusive(String node, Incarnation incarnation) {
        return new Attachment(VM, node, incarnation, AttachMode.EXCLUSIVE, 1);
    }

    private static Attachment shared(long space, String node, Incarnation incarnation) {
        return new Attachment(space, node, incarnation, AttachMode.SHARED, 2);
    }

    @Test
    void shouldKeepTheGuestsGrantWhileTheSnapshotsIsNotGiven() {
        grants.follow(hosted(List.of(space(SNAPSHOT, 0)), shared(SNAPSHOT, "guest", GUEST)));
        assertTrue(isGranted(), "the guest reads until it has the keys of the snapshot");
        assertEquals(1, ranges());
        grants.follow(hosted(List.of(space(SNAPSHOT, 0))));
        assertFalse(isGranted(), "it is no longer attached");
        assertEquals(0, ranges());
    }

    @Test
    void shouldGrantTheSnapshotBesideTheGuestsGrant() throws CoordinatorException {
        Hosted made = hosted(List.of(space(SNAPSHOT, 0)), shared(SNAPSHOT, "guest", GUEST));
        grants.follow(made);
        assertFalse(grants.grantAll(), "the guest's grant must be revoked soon");
        assertEquals(2, ranges());
    }

    /** A READ under way that is refused fails the link. */
    @Test
    void shouldKeepTheGuestsGrantWhenItsSpaceGetsOtherRoomHere() throws CoordinatorException {
        Attachment reads = shared(SNAPSHOT, "guest", GUEST);
        grants.follow(hosted(List.of(space(SNAPSHOT, 0)), reads));
        assertEquals(1, ranges());
        grants.follow(hosted(List.of(space(SNAPSHOT, 0), space(VM, 1)), reads, exclusive("guest", GUEST)));
        grants.grantAll();
        assertEquals(3, ranges(), "the guest may not have the keys of the snapshot yet");
    }

    @Test
    void shouldRevokeAtOnceWhenAnotherNodeReadsTheSnapshot() {
        grants.follow(hosted(List.of(space(SNAPSHOT, 0)), shared(SNAPSHOT, "other", GUEST)));
        assertFalse(isGranted());
    }

    @Test
    void shouldRevokeAtOnceWhenAnotherIncarnationReadsTheSnapshot() {
        grants.follow(hosted(List.of(space(SNAPSHOT, 0)), shared(SNAPSHOT, "guest", new Incarnation(3))));
        assertFalse(isGranted());
    }

    @Test
    void shouldRevokeAtOnceWhenTheSnapshotHasOtherPages() {
        grants.follow(hosted(List.of(space(SNAPSHOT, 1)), shared(SNAPSHOT, "guest", GUEST)));
        assertFalse(isGranted());
    }

    @Test
    void shouldRevokeAtOnceWhenThePagesAreNoSnapshots() {
        grants.follow(hosted(List.of(space(OTHER, 0)), shared(OTHER, "guest", GUEST)));
        assertFalse(isGranted());
    }

    @Test
    void shouldRevokeAtOnceWhenTheNodeIsNotAttachedToTheSnapshot() {
        grants.follow(hosted(List.of(space(SNAPSHOT, 0))));
        assertFalse(isGranted());
    }
}
