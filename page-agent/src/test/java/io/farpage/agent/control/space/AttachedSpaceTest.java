package io.farpage.agent.control.space;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is passed on of the extents of a space, for the successor of this process. */
class AttachedSpaceTest {
    private static final int PAGE = 4096;

    private static SpaceExtents space(long revision, String home) {
        return new SpaceExtents(
                new Space(5, "vm", 4L * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false),
                revision,
                List.of(new Extent(0, 4, List.of(new ExtentHome(home, new Incarnation(7), 0)), ExtentState.OK)));
    }

    @Test
    void shouldPassOnTheExtentsBeforeTheUseSeesThem() {
        AttachedSpace attached = new AttachedSpace(space(10, "b"), Optional.empty(), () -> 0, 1);
        List<String> passed = new ArrayList<>();
        attached.onExtents(now -> passed.add(
                "%d with %d in use".formatted(now.revision(), attached.extents().revision())));
        assertEquals(List.of("10 with 10 in use"), passed);
        assertTrue(attached.update(space(11, "b"), _ -> {}), "nothing has changed but the revision");
        assertTrue(attached.update(space(12, "c"), _ -> {}));
        assertEquals(List.of("10 with 10 in use", "12 with 11 in use"), passed);
    }
}
