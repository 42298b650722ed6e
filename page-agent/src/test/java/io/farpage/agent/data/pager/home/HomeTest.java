package io.farpage.agent.data.pager.home;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.farpage.agent.data.shard.PeerLink;
import org.junit.jupiter.api.Test;

/** What a pager knows of a home. That a home answers is in the pager model, where links come up and go down. */
final class HomeTest {
    private final Home home = new Home(1, new PeerLink("b"), 1);

    @Test
    void shouldNotAnswerWhenLinkIsDown() {
        assertFalse(home.answers(1));
    }

    @Test
    void shouldCountPagesByDirectionUntilTransferEnds() {
        home.begin(8, false);
        home.begin(3, true);
        assertEquals(8, home.incoming());
        assertEquals(3, home.writing());
        assertEquals(2, home.transfers());
        home.end(8, false);
        home.end(3, true);
        assertEquals(0, home.incoming() + home.writing() + home.transfers());
    }
}
