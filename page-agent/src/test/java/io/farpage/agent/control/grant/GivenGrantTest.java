package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.grant.PoolRanges.PoolRange;
import io.farpage.coordinator.model.Incarnation;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When a grant has to be published again. */
final class GivenGrantTest {
    private static final Incarnation INCARNATION = new Incarnation(1);
    private static final List<PoolRange> RANGES = List.of(new PoolRange(0, 4096), new PoolRange(8192, 4096));

    private final GivenGrant grant = new GivenGrant(new GrantParties(1, "home", INCARNATION, "guest", INCARNATION));

    @Test
    void shouldBePublishedWhenTheNodeKnowsItsContent() {
        grant.follow(RANGES, RANGES);
        assertFalse(grant.isPublished());
        grant.published(grant.content());
        assertTrue(grant.isPublished());
    }

    @Test
    void shouldNotBePublishedWhenARangeWasRevokedMeanwhile() {
        grant.follow(RANGES, RANGES);
        GrantContent sent = grant.content();
        grant.revoke(0, 4096);
        grant.published(sent);
        assertFalse(grant.isPublished(), "the node knows a key that is gone");
    }
}
