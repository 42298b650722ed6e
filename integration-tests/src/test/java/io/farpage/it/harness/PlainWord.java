package io.farpage.it.harness;

import io.farpage.linux.uffd.PagedAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.SplittableRandom;

/** A word of ordinary memory, which threads load and store as they do those of paged memory. */
public final class PlainWord implements AutoCloseable {
    private final Arena arena = Arena.ofShared();
    private final MemorySegment word = arena.allocate(ValueLayout.JAVA_LONG);

    /**
     * Starts a thread that loads and stores.
     *
     * @param history of the thread
     * @param number of the thread, in the values that it stores
     */
    public Thread touch(WordHistory history, int number, int operations) {
        return Thread.ofPlatform().start(() -> {
            SplittableRandom random = new SplittableRandom(number);
            MemorySegment loaded = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
            for (int operation = 1; operation <= operations; operation++) {
                long began = System.nanoTime();
                if (random.nextInt(3) == 0) {
                    long value = ((long) number << 48) | operation;
                    StoreInstruction.store(word.address(), value);
                    VarHandle.fullFence();
                    history.stored(value, began, System.nanoTime());
                } else {
                    PagedAccess.read(word.address(), loaded);
                    history.loaded(loaded.get(ValueLayout.JAVA_LONG, 0), began, System.nanoTime());
                }
            }
        });
    }

    @Override
    public void close() {
        arena.close();
    }
}
