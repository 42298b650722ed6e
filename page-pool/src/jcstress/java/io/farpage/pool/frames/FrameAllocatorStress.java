package io.farpage.pool.frames;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** The allocator's edges, each as small as it can be. Run by {@code mvn -Pjcstress -pl page-pool verify}. */
public final class FrameAllocatorStress {
    private FrameAllocatorStress() {}

    /** All frames held but those from {@code first} to {@code last}. */
    private static FrameAllocator freeOnly(int capacity, int first, int last) {
        FrameAllocator frames = new FrameAllocator(capacity);
        frames.allocateRun(capacity);
        if (first <= last) {
            frames.freeRun(first, last - first + 1);
        }
        return frames;
    }

    /** Two ask for the last frame. */
    @JCStressTest
    @Outcome(
            id = {"0, -1, 0", "-1, 0, 0"},
            expect = ACCEPTABLE,
            desc = "one gets it")
    @Outcome(expect = FORBIDDEN, desc = "both or none got it")
    @State
    public static class LastFrame {
        private final FrameAllocator frames = new FrameAllocator(1);

        @Actor
        public void one(III_Result r) {
            r.r1 = frames.allocate();
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = frames.allocate();
        }

        @Arbiter
        public void after(III_Result r) {
            r.r3 = frames.available();
        }
    }

    /** Two ask while two of one word are free. */
    @JCStressTest
    @Outcome(
            id = {"0, 1", "1, 0"},
            expect = ACCEPTABLE,
            desc = "one each")
    @Outcome(expect = FORBIDDEN, desc = "the same, or exhaustion that never was")
    @State
    public static class SameWord {
        private final FrameAllocator frames = new FrameAllocator(2);

        @Actor
        public void one(II_Result r) {
            r.r1 = frames.allocate();
        }

        @Actor
        public void other(II_Result r) {
            r.r2 = frames.allocate();
        }
    }

    /** What an owner wrote before it freed a frame is seen by the next owner. */
    @JCStressTest
    @Outcome(id = "-1", expect = ACCEPTABLE, desc = "not free yet")
    @Outcome(id = "1", expect = ACCEPTABLE, desc = "free and zeroed")
    @Outcome(id = "0", expect = FORBIDDEN, desc = "free, but the write is not seen")
    @State
    public static class Handover {
        private final FrameAllocator frames = freeOnly(1, 0, -1);
        private int content;

        @Actor
        public void formerOwner() {
            content = 1;
            frames.free(0);
        }

        @Actor
        public void nextOwner(I_Result r) {
            r.r1 = frames.allocate() == FrameAllocator.NONE ? -1 : content;
        }
    }

    /** The same by way of a run. */
    @JCStressTest
    @Outcome(id = "-1", expect = ACCEPTABLE, desc = "not free yet")
    @Outcome(id = "1", expect = ACCEPTABLE, desc = "free and zeroed")
    @Outcome(id = "0", expect = FORBIDDEN, desc = "free, but the write is not seen")
    @State
    public static class RunHandover {
        private final FrameAllocator frames = freeOnly(128, 64, 64);
        private int content;

        @Actor
        public void formerOwner() {
            content = 1;
            frames.free(63);
        }

        @Actor
        public void nextOwner(I_Result r) {
            r.r1 = frames.allocateRun(2) == FrameAllocator.NONE ? -1 : content;
        }
    }

    /** One frame is free at every moment, now in this word, now in that: no allocation may fail. */
    @JCStressTest
    @Outcome(
            id = {"0, 64", "64, 0"},
            expect = ACCEPTABLE,
            desc = "one each")
    @Outcome(expect = FORBIDDEN, desc = "the same, or exhaustion that never was")
    @State
    public static class MovingFrame {
        private final FrameAllocator frames = freeOnly(128, 64, 64);

        @Actor
        public void mover(II_Result r) {
            frames.free(0);
            r.r1 = frames.allocate();
        }

        @Actor
        public void searcher(II_Result r) {
            r.r2 = frames.allocate();
        }
    }

    /** Two free the same frame. */
    @JCStressTest
    @Outcome(
            id = {"1, 0, 1", "0, 1, 1"},
            expect = ACCEPTABLE,
            desc = "one is told")
    @Outcome(expect = FORBIDDEN, desc = "a double free got through, or counted")
    @State
    public static class DoubleFree {
        private final FrameAllocator frames = freeOnly(1, 0, -1);

        @Actor
        public void one(III_Result r) {
            r.r1 = freed();
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = freed();
        }

        @Arbiter
        public void after(III_Result r) {
            r.r3 = frames.available();
        }

        private int freed() {
            try {
                frames.free(0);
                return 1;
            } catch (IllegalStateException e) {
                return 0;
            }
        }
    }

    /** A run over a word's edge against a single frame of it. */
    @JCStressTest
    @Outcome(id = "62, -1, 0", expect = ACCEPTABLE, desc = "the run came first")
    @Outcome(
            id = {"-1, 62, 3", "-1, 63, 3", "-1, 64, 3", "-1, 65, 3"},
            expect = ACCEPTABLE,
            desc = "the single frame came first")
    @Outcome(expect = FORBIDDEN, desc = "overlap, or frames lost")
    @State
    public static class RunAgainstSingle {
        private final FrameAllocator frames = freeOnly(128, 62, 65);

        @Actor
        public void run(III_Result r) {
            r.r1 = frames.allocateRun(4);
        }

        @Actor
        public void single(III_Result r) {
            r.r2 = frames.allocate();
        }

        @Arbiter
        public void after(III_Result r) {
            r.r3 = frames.available();
        }
    }

    /** Two runs that can get in each other's way over a word's edge; the loser puts back what it had claimed. */
    @JCStressTest
    @Outcome(
            id = {"62, 65, 0", "65, 62, 0"},
            expect = ACCEPTABLE,
            desc = "side by side")
    @Outcome(
            id = {"-1, 64, 3", "64, -1, 3", "-1, 62, 3", "62, -1, 3", "-1, 65, 3", "65, -1, 3"},
            expect = ACCEPTABLE_INTERESTING,
            desc = "one lost its only pass")
    @Outcome(expect = FORBIDDEN, desc = "overlap, frames lost, or both in vain")
    @State
    public static class RunAgainstRun {
        private final FrameAllocator frames = freeOnly(128, 62, 67);

        @Actor
        public void one(III_Result r) {
            r.r1 = frames.allocateRun(3);
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = frames.allocateRun(3);
        }

        @Arbiter
        public void after(III_Result r) {
            r.r3 = frames.available();
        }
    }
}
