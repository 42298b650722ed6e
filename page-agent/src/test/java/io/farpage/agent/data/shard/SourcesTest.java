package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** In which order a shard's sources work, and how long the others wait. */
class SourcesTest {
    private static final long LONG = TimeUnit.MICROSECONDS.toNanos(100);

    private final List<String> done = new ArrayList<>();
    private long now;
    private final Sources sources = new Sources(() -> now);

    private final class Source implements DutyCycle {
        private final String name;
        private final long nanos;
        private final boolean isBackground;

        Source(String name, long nanos, boolean isBackground) {
            this.name = name;
            this.nanos = nanos;
            this.isBackground = isBackground;
            sources.add(this);
        }

        @Override
        public int doUrgentWork() {
            done.add("urgent " + name);
            return 1;
        }

        @Override
        public int doWork() {
            done.add(name);
            now += nanos;
            return nanos > 0 ? 1 : 0;
        }

        @Override
        public boolean isQuiescent() {
            return true;
        }

        @Override
        public boolean isBackground() {
            return isBackground;
        }
    }

    @Test
    void shouldDoUrgentWorkOfAllSources() {
        new Source("a", LONG, false);
        new Source("b", LONG, false);
        sources.doUrgentWork();
        assertEquals(List.of("urgent a", "urgent b"), done);
    }

    @Test
    void shouldLetOthersWaitForTheNextCallWhenTheBudgetIsUsedUp() {
        new Source("pull", LONG, true);
        new Source("a", LONG, false);
        new Source("b", LONG / 2, false);
        assertEquals(1, sources.doWork());
        assertEquals(List.of("a"), done);
        assertFalse(sources.areQuiescent(), "the others may have work");
        sources.doWork();
        assertEquals(List.of("a", "b", "pull"), done, "both fit into the budget, but for the last one");
        assertTrue(sources.areQuiescent());
        sources.doWork();
        assertEquals(List.of("a", "b", "pull", "a"), done);
    }

    @Test
    void shouldRunAllSourcesWhenNoneHasWork() {
        new Source("a", 0, false);
        new Source("b", 0, false);
        assertEquals(0, sources.doWork());
        assertEquals(List.of("a", "b"), done);
    }

    /** Otherwise the thread could sleep although the first sources were not asked in this cycle. */
    @Test
    void shouldCountTheRestOfARoundAsWork() {
        new Source("a", LONG, false);
        new Source("b", 0, false);
        sources.doWork();
        assertEquals(1, sources.doWork());
        assertEquals(List.of("a", "b"), done);
    }

    @Test
    void shouldBeginAnewWhenASourceIsRemovedMeanwhile() {
        new Source("a", LONG, false);
        DutyCycle second = new Source("b", LONG, false);
        sources.doWork();
        sources.remove(second);
        sources.doWork();
        assertEquals(List.of("a", "a"), done);
    }
}
