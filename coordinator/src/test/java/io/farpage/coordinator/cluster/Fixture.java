package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Gid;
import io.farpage.coordinator.model.HeaderPage;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.coordinator.model.WriterRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A ledger on a store in memory and a clock turned by hand, and the documents that tests send. */
public final class Fixture {
    private static final HeaderPage HEADER = new HeaderPage(new RemoteAddress(0x7f00_0000_0000L), 0xffff_ffffL);

    static final Duration LEASE = Duration.ofSeconds(15);

    final MemoryStore store = new MemoryStore();
    final FakeTime time = new FakeTime();
    Ledger ledger;
    Membership membership;
    Links links;
    Spaces spaces;

    Fixture() {
        ledger = new Ledger(store, 1_000, nanos -> {});
        membership = new Membership(ledger, time, LEASE, Duration.ofSeconds(5));
        links = new Links(ledger);
        spaces = new Spaces(ledger, time, new Heat(System::nanoTime), new Spaces.Options(true, 100));
    }

    void restart() {
        ledger = new Ledger(store, 1_000, nanos -> {});
        membership = new Membership(ledger, time, LEASE, Duration.ofSeconds(5));
        links = new Links(ledger);
        spaces = new Spaces(ledger, time, new Heat(System::nanoTime), new Spaces.Options(true, 100));
    }

    /** All pages of these extents come to the homes that join: node w notes what it writes, and the homes pull. */
    void pull(Repairs repairs, String space, Incarnation writer, List<ExtentEpoch> joined) {
        repairs.allowPulls(space, "w", new WriterRequest(writer, joined));
        for (Extent extent : spaces.extents(space).extents()) {
            if (joined.contains(ExtentEpoch.of(extent))) {
                long id = spaces.extents(space).space().id();
                Node to = membership.node(extent.joining().orElseThrow().node()).orElseThrow();
                repairs.pulled(to.id(), new PullReport(to.incarnation(), id, ExtentEpoch.of(extent), Optional.empty()));
                repairs.settled(id);
            }
        }
    }

    /** As {@link #pull}; then the writer has copied what it has noted, and has the homes promoted. */
    void promote(Repairs repairs, String space, Incarnation writer, List<ExtentEpoch> joined) {
        pull(repairs, space, writer, joined);
        repairs.promote(space, "w", new WriterRequest(writer, joined));
    }

    private Hosting hosting() {
        return new Hosting(ledger, new Grants(ledger));
    }

    /** What a home has to cut off, and what it has cut off and must keep so. */
    List<Fence> fences(String home) {
        return hosting().of(home).fences();
    }

    /** What a home may zero. */
    List<Release> zeroable(String home) {
        return hosting().of(home).zeroable();
    }

    /** A home has cut an incarnation off. */
    void fenced(String home, Incarnation incarnation, String node, Incarnation fenced) {
        hosting()
                .acknowledge(
                        home,
                        new HostedAck(
                                incarnation,
                                hosting().of(home).revision(),
                                List.of(new HostedAck.Fenced(node, fenced)),
                                List.of()));
    }

    /** A home has zeroed ranges. */
    void zeroed(String home, Incarnation incarnation, List<Long> ids) {
        hosting()
                .acknowledge(home, new HostedAck(incarnation, hosting().of(home).revision(), List.of(), ids));
    }

    /** What is found by an index is what a look at all rows finds. */
    void checkIndexes() {
        State state = ledger.state();
        State.Derived scanned =
                State.Derived.of(state.extents(), state.attachments(), state.fences(), state.releases());
        assertEquals(scanned.hosted().keys(), state.derived().hosted().keys());
        assertEquals(scanned.attached().keys(), state.derived().attached().keys());
        assertEquals(scanned.cutOff().keys(), state.derived().cutOff().keys());
        assertEquals(scanned.groups().keys(), state.derived().groups().keys());
        assertEquals(scanned.used(), state.derived().used());
        assertEquals(scanned.released(), state.derived().released());
    }

    /** Bytes of a node's pool that nothing holds, counted in two ways. */
    long freeBytes(Node node) {
        State state = ledger.state();
        long free = FreeSpace.of(node, new Draft(state)).freeBytes();
        assertEquals(free, state.freeBytes(node), node.id());
        return free;
    }

    public static Registration node(long incarnation, long exportedBytes) {
        return node(incarnation, exportedBytes, "127.0.0.1:7410");
    }

    public static Registration node(long incarnation, long exportedBytes, String address) {
        return new Registration(
                new Incarnation(incarnation),
                "host",
                address,
                2,
                1L << 33,
                List.of(),
                new PoolInfo(exportedBytes, 4096, Optional.empty()),
                List.of(TransportKind.TCP),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    public static EndpointRequest endpoint(long incarnation, long peerIncarnation, long attempt) {
        return new EndpointRequest(
                new Incarnation(incarnation),
                new Incarnation(peerIncarnation),
                Optional.of(new Attempt(attempt)),
                Optional.empty(),
                List.of(QpEntry.tcp(0, 0, 17, Gid.ZERO, 5, 4096, "127.0.0.1", 9000, HEADER)),
                Optional.empty());
    }
}
