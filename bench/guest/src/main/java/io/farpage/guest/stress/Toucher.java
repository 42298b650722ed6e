package io.farpage.guest.stress;

import io.farpage.linux.uffd.PagedAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One thread's share of the work: the pages whose number leaves its own remainder, so that neighbours are other
 * threads'.
 */
final class Toucher implements Runnable {
    private static final int PHASE = 2_000;

    private final Work work;
    private final int self;
    private final Shadow shadow;
    private final AtomicBoolean stop;
    private final SplittableRandom random;
    private final MemorySegment page;
    private final MemorySegment slot;
    private long version;
    private int cursor;
    private @Nullable String mismatch;
    private volatile long done;

    /**
     * What all threads do together.
     *
     * @param base address of the first page
     * @param pages that they touch
     * @param operations of all threads together; the first ones do one more each if the threads cannot share them
     *     evenly
     * @param rate operations a second of all threads together; 0 for as many as there can be
     * @param shadow what the pages should hold
     */
    record Work(long base, int pages, int threads, long operations, long rate, long seed, Shadow shadow) {}

    /**
     * @param self number of the thread, from 0 on
     * @param stop set when any thread has found a mismatch
     */
    Toucher(Work work, int self, AtomicBoolean stop, Arena arena) {
        this.work = work;
        this.self = self;
        this.stop = stop;
        shadow = work.shadow();
        random = new SplittableRandom(work.seed() * 31 + self);
        page = arena.allocate(shadow.pageBytes(), 8);
        slot = page.asSlice(0, shadow.slotBytes());
    }

    @Override
    public void run() {
        long operations = (work.operations() + work.threads() - 1 - self) / work.threads();
        long interval = work.rate() == 0 ? 0 : TimeUnit.SECONDS.toNanos(1) * work.threads() / work.rate();
        for (long i = 0; i < operations && !stop.get(); i++) {
            LockSupport.parkNanos(interval);
            operate((int) (i / PHASE % 3));
            done = i + 1;
        }
        for (int p = self; p < work.pages() && !stop.get(); p += work.threads()) {
            check(p);
        }
    }

    private void operate(int phase) {
        int chosen = choose(phase);
        int what = random.nextInt(100);
        if (what < 45) {
            check(chosen);
        } else if (what < 85) {
            write(chosen, random.nextInt(Shadow.SLOTS), ++version);
        } else if (what < 95) {
            for (int s = 0; s < Shadow.SLOTS; s++) {
                write(chosen, s, 0);
            }
        } else {
            PagedAccess.remove(address(chosen), shadow.pageBytes());
            shadow.removed(chosen);
        }
    }

    /** A page of this thread's: anywhere, or the next one, or one of few. */
    private int choose(int phase) {
        int own = (work.pages() - self + work.threads() - 1) / work.threads();
        cursor = switch (phase) {
            case 0 -> random.nextInt(own);
            case 1 -> (cursor + 1) % own;
            default -> random.nextInt(Math.max(1, own / 8));
        };
        return self + cursor * work.threads();
    }

    private long address(int p) {
        return work.base() + (long) p * shadow.pageBytes();
    }

    private void write(int p, int number, long what) {
        Shadow.fill(slot, p, number, what);
        PagedAccess.write(address(p) + (long) number * shadow.slotBytes(), slot);
        shadow.wrote(p, number, what);
    }

    private void check(int p) {
        PagedAccess.read(address(p), page);
        int wrong = shadow.mismatch(page, p);
        if (wrong >= 0) {
            mismatch = shadow.describe(page, p, wrong);
            stop.set(true);
        }
    }

    /** Operations so far. Any thread. */
    long done() {
        return done;
    }

    /** The first difference found, once the thread has ended. */
    @Nullable
    String mismatch() {
        return mismatch;
    }
}
