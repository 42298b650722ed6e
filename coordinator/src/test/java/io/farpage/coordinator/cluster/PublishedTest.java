package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What nodes publish for their peers is in memory alone. */
class PublishedTest {

    private final Fixture with = new Fixture();

    @BeforeEach
    void register() {
        for (String node : List.of("a", "b", "c")) {
            with.membership.register(node, Fixture.node(1, 1 << 20));
        }
    }

    @Test
    void shouldCommitNothingForEndpoints() {
        with.links.publish("a", "b", Fixture.endpoint(1, 1, 0));
        long commits = with.store.revision();
        for (int i = 1; i < 500; i++) {
            with.links.publish("a", "b", Fixture.endpoint(1, 1, i));
        }
        assertEquals(commits, with.store.revision());
    }

    /**
     * Otherwise a client that has seen the index of a lost event would take the next event of that index for the one it
     * knows.
     */
    @Test
    void shouldGiveNoIndexTwiceWhenEventsWereNotStored() throws InterruptedException {
        for (int i = 0; i < 2_500; i++) {
            with.links.publish("a", "b", Fixture.endpoint(1, 1, i));
        }
        long seen = with.ledger.events().index();
        with.restart();
        assertTrue(with.ledger.events().index() >= seen);
        for (int i = 0; i < 2_500; i++) {
            with.links.publish("a", "b", Fixture.endpoint(1, 1, i));
        }
        assertTrue(with.ledger
                .events()
                .after(seen - 1, Duration.ZERO, EventFilter.ALL)
                .resync());
    }

    @Test
    void shouldKnowNothingOfItAfterARestart() {
        with.links.publish("a", "b", Fixture.endpoint(1, 1, 1));
        with.restart();
        assertEquals(List.of(), with.links.endpoints("a"));
    }

    @Test
    void shouldListWhatPeersOfferANode() {
        with.links.publish("a", "b", Fixture.endpoint(1, 1, 1));
        with.links.publish("c", "b", Fixture.endpoint(1, 1, 2));
        with.links.publish("b", "c", Fixture.endpoint(1, 1, 3));
        assertEquals(
                List.of("a", "c"),
                with.links.offers("b").stream().map(endpoint -> endpoint.node()).toList());
        with.membership.register("a", Fixture.node(2, 1 << 20));
        assertEquals(
                List.of("c"),
                with.links.offers("b").stream().map(endpoint -> endpoint.node()).toList());
        assertEquals(1, with.ledger.state().soft().endpoints().size() - 1, "c to b and b to c are left");
    }
}
