package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.linux.PollSet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** In which order a shard's sources work, and how long the others wait. */
class SourcesTest {
    private static final long LONG = TimeUnit.MICROSECONDS.toNanos(100);

    private final List<String> done = new ArrayList<>();
    private long now;
    private final Sources sources = new Sources(() -> now);

    private class Source implements DutyCycle {
        private final String name;
        long nanos;
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

    /** A source with a descriptor, and what it was told about it. */
    private static final class Polled implements DutyCycle {
        private final EventFd descriptor = new EventFd();
        private final List<Boolean> told = new ArrayList<>();

        @Override
        public int doWork() {
            return 0;
        }

        @Override
        public int fileDescriptor() {
            return descriptor.fd();
        }

        @Override
        public void polled(boolean isReadable) {
            told.add(isReadable);
        }
    }

    @Test
    void shouldTellEachSourceWhetherItsDescriptorIsReadable() {
        List<Polled> polled = Stream.generate(Polled::new).limit(20).toList();
        new Source("without a descriptor", 0, false);
        assertFalse(sources.areMany());
        polled.forEach(sources::add);
        assertTrue(sources.areMany());
        polled.get(7).descriptor.signal(Errno.ofThread());
        PollSet set = new PollSet(1);
        set.add(polled.getFirst().descriptor.fd(), PollSet.POLLIN);
        sources.addDescriptors(set);
        set.await(0);
        sources.polled(set);
        sources.polled(set);
        for (int i = 0; i < polled.size(); i++) {
            assertEquals(List.of(i == 7), polled.get(i).told, "source " + i);
            polled.get(i).descriptor.close();
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

    /** A source with a descriptor, which may rest. */
    private final class Guest extends Source implements AutoCloseable {
        private final EventFd descriptor = new EventFd();
        private boolean isAtRest = true;

        Guest(String name) {
            super(name, 0, false);
        }

        @Override
        public boolean isAtRest() {
            return isAtRest;
        }

        @Override
        public int fileDescriptor() {
            return descriptor.fd();
        }

        @Override
        public void close() {
            descriptor.close();
        }
    }

    /** What a cycle after a sleep runs. */
    private List<String> afterPoll(Runnable meanwhile) {
        PollSet set = new PollSet(8);
        sources.addDescriptors(set);
        set.await(0);
        sources.polled(set);
        meanwhile.run();
        done.clear();
        sources.doUrgentWork();
        sources.doWork();
        return List.copyOf(done);
    }

    @Test
    void shouldLeaveOutSourcesThatRest() {
        try (Guest a = new Guest("a");
                Guest b = new Guest("b");
                Guest c = new Guest("c")) {
            assertEquals(List.of(), afterPoll(() -> {}));
            b.descriptor.signal(Errno.ofThread());
            assertEquals(List.of("urgent b", "b"), afterPoll(() -> {}));
            c.isAtRest = false;
            assertEquals(List.of("urgent b", "urgent c", "b", "c"), afterPoll(() -> {}));
            assertEquals(List.of("urgent b", "b"), afterPoll(() -> c.isAtRest = true));
            done.clear();
            sources.doWork();
            assertEquals(List.of("a", "b", "c"), done, "no descriptor was polled for this cycle");
            assertTrue(a.isAtRest);
        }
    }

    @Test
    void shouldLeaveNoneOutOnceWoken() {
        try (Guest _ = new Guest("a");
                Guest _ = new Guest("b")) {
            assertEquals(List.of("urgent a", "urgent b", "a", "b"), afterPoll(sources::wake));
        }
    }

    @Test
    void shouldLeaveNoneOutForLongerThanATenthOfASecond() {
        try (Guest _ = new Guest("a");
                Guest _ = new Guest("b")) {
            now += TimeUnit.MILLISECONDS.toNanos(100) - 1;
            assertEquals(List.of(), afterPoll(() -> {}));
            now++;
            assertEquals(List.of("urgent a", "urgent b", "a", "b"), afterPoll(() -> {}));
            assertEquals(List.of(), afterPoll(() -> {}));
        }
    }

    /** The budget may end a cycle of all before it has reached the source for which the shard was woken. */
    @Test
    void shouldLeaveNoneOutOfTheRestOfARoundOfAll() {
        try (Guest a = new Guest("a");
                Guest _ = new Guest("b");
                Guest _ = new Guest("c")) {
            a.nanos = LONG;
            assertEquals(List.of("urgent a", "urgent b", "urgent c", "a"), afterPoll(sources::wake));
            assertEquals(List.of("urgent a", "urgent b", "urgent c", "b", "c"), afterPoll(() -> {}));
            assertEquals(List.of(), afterPoll(() -> {}));
        }
    }

    /** A guest that uses the budget up in each cycle does not keep those before it from their turn. */
    @Test
    void shouldRunThoseThatRestAlthoughOneUsesTheBudgetUp() {
        try (Guest a = new Guest("a");
                Guest busy = new Guest("busy");
                Guest _ = new Guest("c")) {
            busy.isAtRest = false;
            busy.nanos = LONG;
            List<String> all = new ArrayList<>();
            for (int i = 0; i < 1_000 && !all.contains("a"); i++) {
                all.addAll(afterPoll(() -> now += LONG));
            }
            assertTrue(all.contains("a"), "left out for longer than a tenth of a second");
            assertTrue(a.isAtRest);
        }
    }

    @Test
    void shouldNotTakeOneSourceForAnotherOnceOneWasRemoved() {
        try (Guest a = new Guest("a");
                Guest b = new Guest("b");
                Guest c = new Guest("c")) {
            c.descriptor.signal(Errno.ofThread());
            assertEquals(List.of("urgent b", "urgent c", "b", "c"), afterPoll(() -> sources.remove(a)));
            assertTrue(b.isAtRest);
        }
    }
}
