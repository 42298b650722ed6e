package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Alert;
import io.farpage.coordinator.model.AlertKind;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class AlertsTest {

    private static final int PAGE = 4096;

    private final Fixture with = new Fixture();

    private List<Alert> alerts() {
        State state = with.ledger.state();
        return Alerts.of(state);
    }

    private List<String> kinds() {
        return alerts().stream()
                .map(alert -> alert.kind()
                        + alert.space().map(name -> " " + name).orElse("")
                        + alert.node().map(name -> " " + name).orElse(""))
                .toList();
    }

    private void node(String id, int incarnation, int pages) {
        with.membership.register(id, Fixture.node(incarnation, (long) pages * PAGE));
    }

    private void space(String name, int pages, int replicas, String... homes) {
        with.spaces.create(new SpaceRequest(name, (long) pages * PAGE, OptionalInt.empty(), Optional.of(List.of(homes)))
                .withReplicas(replicas));
    }

    /** Nodes whose leases run out, while those named are alive. */
    private void failAllBut(String... alive) {
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        for (String id : alive) {
            with.membership.heartbeat(id, with.membership.node(id).orElseThrow().incarnation());
        }
        with.time.advance(Duration.ofSeconds(2));
        with.membership.expire();
    }

    @Test
    void shouldBeSilentAboutAHealthyCluster() {
        node("a", 1, 100);
        node("b", 2, 100);
        space("vm", 50, 2, "a", "b");
        assertEquals(List.of(), kinds());
    }

    @Test
    void shouldTellANodeWithTheOnlyCopyFromOneWhoseCopiesAreElsewhere() {
        node("a", 1, 100);
        node("b", 2, 100);
        node("c", 3, 100);
        space("mirrored", 10, 2, "a", "b");
        space("single", 10, 1, "c");
        failAllBut("b");
        assertEquals(List.of("ONLY_COPY_AWAY c", "NODE_FAILED a"), kinds());
        assertTrue(alerts().getFirst().message().contains("only copy of 1 extents"));
    }

    @Test
    void shouldNameLostPages() {
        node("a", 1, 100);
        space("vm", 10, 1, "a");
        node("a", 2, 100);
        assertEquals(List.of("PAGES_LOST vm"), kinds());
    }

    @Test
    void shouldNameExtentsThatHaveTooFewHomes() {
        node("a", 1, 100);
        node("b", 2, 100);
        space("vm", 10, 2, "a", "b");
        node("a", 3, 100);
        assertEquals(List.of("EXTENTS_DEGRADED vm"), kinds());
    }

    @Test
    void shouldNameAPoolThatIsNineTenthsFull() {
        node("a", 1, 10);
        space("vm", 8, 1, "a");
        assertEquals(List.of(), kinds());
        space("more", 1, 1, "a");
        assertEquals(List.of("POOL_NEARLY_FULL a"), kinds());
    }

    @Test
    void shouldNameATornSpaceAndTheFailedHomeThatItWaitsFor() {
        node("a", 1, 100);
        node("b", 2, 100);
        node("w", 3, 0);
        space("vm", 10, 1, "a");
        new Attachments(with.ledger, with.time)
                .attach("vm", "w", new AttachRequest(new Incarnation(3), AttachMode.EXCLUSIVE));
        node("w", 4, 0);
        assertEquals(List.of("SPACE_TORN vm"), kinds());
        failAllBut("b", "w");
        assertEquals(List.of("SPACE_TORN vm", "ONLY_COPY_AWAY a", "FENCE_WAITS vm a"), kinds());
        assertEquals(AlertKind.Severity.CRITICAL, alerts().getLast().severity());
    }
}
