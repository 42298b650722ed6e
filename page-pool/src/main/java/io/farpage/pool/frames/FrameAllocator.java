package io.farpage.pool.frames;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Hands out frame indices 0 … capacity−1, each to one owner at a time. Lock-free, thread-safe, and nothing is allocated
 * on the Java heap after construction. Exhaustion is a value, {@link #NONE}, which the caller handles.
 *
 * <h2>How it works, and why so</h2> One bit a frame says whether it is free; a word of 64 is changed by
 * compare-and-set. A Treiber stack of indices would find a frame in one step where this searches, but it must carry a
 * tag against ABA, chases a dependent load through memory that another core wrote last, cannot see a double free, and
 * cannot give a run of neighbours. Here the bits are the whole truth: there is no pointer that could be stale (a
 * compare-and-set that succeeds on a word that changed and changed back is correct, as the same frames are free), a
 * double free finds its bit already set, and neighbours are neighbouring bits.
 *
 * <p><b>Permits.</b> {@code permits} counts free frames that are not yet promised. {@link #allocate()} first takes a
 * permit and only then searches. The invariant, that set bits ≥ permits + searches under way, holds because a bit is
 * cleared only by one who holds a permit and a permit is given back only after its bit is set; so a search that holds a
 * permit has a bit to find, and a whole round without one means that others allocated and freed meanwhile: another
 * thread made progress, which is lock-freedom. Without permits a search could miss frames that are freed behind it and
 * report exhaustion that never was. The one exception is {@link #allocateRun}: between taking its permits and failing
 * to get its bits (which a concurrent winner caused) it holds permits that it gives back, and a concurrent
 * {@code allocate()} may then get {@link #NONE} though a frame is free. With no run being allocated, {@code NONE} means
 * that there was a moment at which none was free.
 *
 * <p><b>Ordering.</b> The compare-and-set that clears a bit acquires, the or that sets it releases, both on the same
 * word. So what the former owner wrote to the frame before {@link #free} happens-before the next owner's first access:
 * a frame that was zeroed and then freed is seen zeroed. Between a set and the clear that takes it there may be changes
 * to other bits of the word; those are read-modify-writes, which continue the release sequence (and in Java all of
 * these are volatile accesses, totally ordered). Hints are plain ints under opaque access: a stale one costs a longer
 * search, nothing else. A free points the hint at its frame, so that the next allocation gets one whose lines and
 * translation are still in the caches.
 *
 * <p>Cost: two atomic operations on a hit near the hint; a search reads 64 frames per load, so an almost full pool of
 * 2<sup>20</sup> frames costs at most 16384 sequential loads.
 */
public final class FrameAllocator {
    /** What {@link #allocate()} and {@link #allocateRun} return if no frame, or no run, is free. */
    public static final int NONE = -1;

    private static final VarHandle words$vh = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle hints$vh = MethodHandles.arrayElementVarHandle(int[].class);
    private static final VarHandle permits$vh;
    private static final VarHandle highWater$vh;
    private static final VarHandle exhaustions$vh;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            permits$vh = lookup.findVarHandle(FrameAllocator.class, "permits", int.class);
            highWater$vh = lookup.findVarHandle(FrameAllocator.class, "highWater", int.class);
            exhaustions$vh = lookup.findVarHandle(FrameAllocator.class, "exhaustions", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Hints are spread over this many cache lines by thread, so that threads search apart. */
    private static final int STRIPES = 8;

    private static final int INTS_PER_LINE = 32;

    private final int capacity;
    private final long[] words;
    private final int[] hints;

    private volatile int permits;
    private volatile int highWater;
    private volatile long exhaustions;

    /**
     * All frames free.
     *
     * @param capacity number of frames, 0 … {@code Integer.MAX_VALUE − 63}
     */
    public FrameAllocator(int capacity) {
        if (capacity < 0 || capacity > Integer.MAX_VALUE - 63) {
            throw new IllegalArgumentException("frames: " + capacity + "; allowed: 0 … " + (Integer.MAX_VALUE - 63));
        }
        this.capacity = capacity;
        this.words = new long[Math.ceilDiv(capacity, Long.SIZE)];
        this.hints = new int[(STRIPES + 1) * INTS_PER_LINE];
        Arrays.fill(words, -1L);
        if (capacity % Long.SIZE != 0) {
            words[words.length - 1] = (1L << capacity) - 1;
        }
        for (int stripe = 0; stripe < STRIPES; stripe++) {
            hints[hintIndex(stripe)] = (int) ((long) words.length * stripe / STRIPES);
        }
        this.permits = capacity;
    }

    /** The number of frames, free or not. */
    public int capacity() {
        return capacity;
    }

    /** How many frames are free at this moment. */
    public int available() {
        return permits;
    }

    /** The most frames that were ever held at once. */
    public int highWater() {
        return highWater;
    }

    /** How many times {@link #NONE} was given. */
    public long exhaustions() {
        return exhaustions;
    }

    /** Takes a free frame for the caller; gives its index, or {@link #NONE} if none is free. */
    public int allocate() {
        if (!takePermits(1)) {
            exhaustions$vh.getAndAdd(this, 1L);
            return NONE;
        }
        int hint = hintOfThisThread();
        int at = (int) hints$vh.getOpaque(hints, hint);
        while (true) {
            long word = (long) words$vh.getOpaque(words, at);
            while (word != 0) {
                long bit = Long.lowestOneBit(word);
                long witness = (long) words$vh.compareAndExchange(words, at, word, word & ~bit);
                if (witness == word) {
                    hints$vh.setOpaque(hints, hint, at);
                    return at * Long.SIZE + Long.numberOfTrailingZeros(bit);
                }
                word = witness;
            }
            at = at + 1 == words.length ? 0 : at + 1;
        }
    }

    /**
     * Takes {@code count} neighbouring frames for the caller, the lowest that are found.
     *
     * @param count 1 … capacity
     * @return the first frame's index, or {@link #NONE} if no such run was found free in one pass over the pool; frames
     *     may then still be free one by one
     */
    public int allocateRun(int count) {
        if (count < 1 || count > capacity) {
            throw new IllegalArgumentException("run of " + count + " frames; allowed: 1 … " + capacity);
        }
        int first = 0;
        while (first <= capacity - count) {
            int taken = firstTaken(first, count);
            if (taken != NONE) {
                first = taken + 1;
            } else if (!takePermits(count)) {
                break;
            } else {
                int lost = claim(first, count);
                if (lost == NONE) {
                    return first;
                }
                returnPermits(count);
                first = lost + 1;
            }
        }
        exhaustions$vh.getAndAdd(this, 1L);
        return NONE;
    }

    /**
     * Gives a frame back. The caller must not touch it afterwards, nor may a device that the caller let at it.
     *
     * @throws IllegalArgumentException if there is no such frame
     * @throws IllegalStateException if it is free already; nothing is changed
     */
    public void free(int frame) {
        freeRun(frame, 1);
    }

    /**
     * Gives neighbouring frames back, whether they were taken as a run or not.
     *
     * @throws IllegalArgumentException if any of them does not exist; nothing is changed
     * @throws IllegalStateException if one is free already, naming the first such; the others have been freed
     */
    public void freeRun(int first, int count) {
        if (first < 0 || count < 1 || first > capacity - count) {
            throw new IllegalArgumentException(
                    "frames %d … %d; allowed: 0 … %d".formatted(first, first + (long) count - 1, capacity - 1));
        }
        int freed = 0;
        int doubly = NONE;
        for (int frame = first, end = first + count; frame < end; ) {
            int index = frame / Long.SIZE;
            long mask = mask(frame, end);
            long before = (long) words$vh.getAndBitwiseOr(words, index, mask);
            freed += Long.bitCount(mask & ~before);
            if ((before & mask) != 0 && doubly == NONE) {
                doubly = index * Long.SIZE + Long.numberOfTrailingZeros(before & mask);
            }
            frame = (index + 1) * Long.SIZE;
        }
        returnPermits(freed);
        hints$vh.setOpaque(hints, hintOfThisThread(), first / Long.SIZE);
        if (doubly != NONE) {
            throw new IllegalStateException("frame " + doubly + " is freed twice");
        }
    }

    /** Whether this frame is free at this moment; for statistics and tests. */
    public boolean isFree(int frame) {
        if (frame < 0 || frame >= capacity) {
            throw new IllegalArgumentException("frame " + frame + "; allowed: 0 … " + (capacity - 1));
        }
        return ((long) words$vh.getVolatile(words, frame / Long.SIZE) >>> frame & 1) != 0;
    }

    /**
     * The last frame of {@code first … first+count−1} that is taken, from where a search must go on, or {@link #NONE}.
     */
    private int firstTaken(int first, int count) {
        int last = NONE;
        for (int frame = first, end = first + count; frame < end; ) {
            int index = frame / Long.SIZE;
            long mask = mask(frame, end);
            long taken = ~(long) words$vh.getOpaque(words, index) & mask;
            if (taken != 0) {
                last = index * Long.SIZE + Long.SIZE - 1 - Long.numberOfLeadingZeros(taken);
            }
            frame = (index + 1) * Long.SIZE;
        }
        return last;
    }

    /**
     * Clears all bits of the run, or none of them: gives {@link #NONE} if it did, else the frame that another thread
     * took.
     */
    private int claim(int first, int count) {
        int end = first + count;
        for (int frame = first; frame < end; ) {
            int index = frame / Long.SIZE;
            long mask = mask(frame, end);
            long word = (long) words$vh.getOpaque(words, index);
            while ((word & mask) == mask) {
                long witness = (long) words$vh.compareAndExchange(words, index, word, word & ~mask);
                if (witness == word) {
                    break;
                }
                word = witness;
            }
            if ((word & mask) != mask) {
                unclaim(first, frame);
                return index * Long.SIZE + Long.SIZE - 1 - Long.numberOfLeadingZeros(~word & mask);
            }
            frame = (index + 1) * Long.SIZE;
        }
        return NONE;
    }

    private void unclaim(int first, int end) {
        for (int frame = first; frame < end; ) {
            int index = frame / Long.SIZE;
            words$vh.getAndBitwiseOr(words, index, mask(frame, end));
            frame = (index + 1) * Long.SIZE;
        }
    }

    private boolean takePermits(int count) {
        int seen = permits;
        while (seen >= count) {
            int witness = (int) permits$vh.compareAndExchange(this, seen, seen - count);
            if (witness == seen) {
                raiseHighWater(capacity - seen + count);
                return true;
            }
            seen = witness;
        }
        return false;
    }

    private void returnPermits(int count) {
        permits$vh.getAndAdd(this, count);
    }

    private void raiseHighWater(int held) {
        int seen = highWater;
        while (seen < held) {
            int witness = (int) highWater$vh.compareAndExchange(this, seen, held);
            if (witness == seen) {
                return;
            }
            seen = witness;
        }
    }

    /** The bits, in the word of {@code frame}, of the frames from {@code frame} up to, not including, {@code end}. */
    private static long mask(int frame, int end) {
        long from = -1L << frame;
        return end - (frame & -Long.SIZE) < Long.SIZE ? from & ((1L << end) - 1) : from;
    }

    private static int hintOfThisThread() {
        return hintIndex((int) Thread.currentThread().threadId() & (STRIPES - 1));
    }

    private static int hintIndex(int stripe) {
        return (stripe + 1) * INTS_PER_LINE;
    }
}
