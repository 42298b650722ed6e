package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.store.Table;
import io.farpage.it.deadlines.Deadlines;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pcollections.TreePMap;

@Tag("portable")
class IndexTest {

    private static final int PAGE = 4096;
    private static final List<String> WORDS = List.of("a", "a/b", "a/b/c", "a-b", "a0", "b", "ab");

    @Test
    void shouldFindTheRowsThatALookAtAllOfThemFinds() {
        long seed = Long.getLong("farpage.seed", new Random().nextLong());
        Random random = new Random(seed);
        Rows<Set<String>> rows = Rows.indexed(
                Table.SPACES, TreePMap.empty(), Index.of(Map.of(), Function.identity()), new ArrayList<>());
        for (int step = 0; step < 5_000; step++) {
            String key = "key-" + random.nextInt(20);
            if (random.nextInt(4) == 0) {
                rows.remove(key);
            } else {
                rows.put(key, someOf(random));
            }
            for (String word : WORDS) {
                assertEquals(scan(rows, word), new TreeSet<>(rows.keysWith(word)), "seed " + seed);
            }
            assertEquals(Index.of(rows.current(), rows.index().words()), rows.index(), "seed " + seed);
        }
    }

    private static Set<String> someOf(Random random) {
        Set<String> some = new TreeSet<>(WORDS);
        some.removeIf(_ -> random.nextBoolean());
        return some;
    }

    private static Set<String> scan(Rows<Set<String>> rows, String word) {
        Set<String> found = new TreeSet<>();
        rows.current().forEach((key, row) -> {
            if (row.stream().anyMatch(each -> each.equals(word) || each.startsWith(word + "/"))) {
                found.add(key);
            }
        });
        return found;
    }

    /** A thousand agents ask at once, after each change of the leader. */
    @Test
    void shouldNotLookAtSpacesFencesAndAttachmentsOfOtherNodes() {
        Fixture with = new Fixture();
        with.membership.register("a", Fixture.node(1, 0));
        int spaces = 20_000;
        with.ledger.change(draft -> {
            for (int i = 0; i < spaces; i++) {
                put(draft, i, i == 7 ? "a" : "b");
            }
            return draft;
        });
        Hosting hosting = new Hosting(with.ledger, new Grants(with.ledger));
        Attaching attaching = new Attaching(with.ledger, new Grants(with.ledger));
        State state = with.ledger.state();
        assertTimeoutPreemptively(Deadlines.of(Duration.ofSeconds(20)), () -> {
            for (int i = 0; i < spaces; i++) {
                List<SpaceExtents> hosted = hosting.of("a").spaces();
                assertEquals(1, hosted.size());
                assertEquals(1, attaching.of("a", 0).spaces().size());
                Draft draft = new Draft(state);
                Fences.checkNotCutOff(draft, hosted.getFirst().space(), "a", new Incarnation(1));
            }
        });
    }

    private static void put(Draft draft, long id, String home) {
        Space space = new Space(id, "space-" + id, PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false);
        ExtentHome place = new ExtentHome(home, new Incarnation(1), id * PAGE);
        draft.spaces.put(Keys.id(id), space);
        draft.extents.create(space, List.of(new Extent(0, 1, List.of(place), ExtentState.OK)));
        Fence fence = new Fence("b", new Incarnation(1), id, "c", new Incarnation(3), false);
        draft.fences.put(Keys.fence(fence), fence);
        draft.attachments.put(
                Keys.id(id) + "/" + home, new Attachment(id, home, new Incarnation(1), AttachMode.SHARED, 1));
    }
}
