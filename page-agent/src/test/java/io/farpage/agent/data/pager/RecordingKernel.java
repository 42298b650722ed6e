package io.farpage.agent.data.pager;

import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.UffdMessages;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Carries out every request, unless the test has it refuse, and records the requests by page of 4 KiB. Reads the
 * messages that the test sets.
 */
public final class RecordingKernel implements PageFaults {
    /** The first address of the guest's memory. */
    public static final long BASE = 1L << 44;

    public static final int FD = 77;
    private static final int PAGE = 4096;

    /** The requests. */
    public final List<String> calls = new ArrayList<>();
    /** The messages of the next read. */
    public @Nullable Consumer<MessageWriter> messages;
    /** Run before each request is carried out. */
    public Runnable before = () -> {};
    /** Thrown by the next read. */
    public @Nullable Throwable thrown;
    /** The error number of every read; 0 for none. */
    public int readError;

    public int reads;
    /** The userfaultfds of the processes that fork, in the order in which they do. */
    public final Deque<PageFaults> forks = new ArrayDeque<>();

    private final Deque<Integer> refusals = new ArrayDeque<>();

    /** Refuses the next requests, one with each of these error numbers; 0 carries a request out. */
    public void refuse(int... errnos) {
        for (int errno : errnos) {
            refusals.add(errno);
        }
    }

    private long carryOut(String call, long start, long length) {
        long pages = length / PAGE;
        before.run();
        calls.add(call + " " + (start - BASE) / PAGE + (pages == 1 ? "" : "*" + pages));
        int refusal = refusals.isEmpty() ? 0 : refusals.remove();
        return refusal == 0 ? length : -refusal;
    }

    @Override
    public int fd() {
        return FD;
    }

    @Override
    public int read(UffdMessages into) {
        reads++;
        Throwable failure = thrown;
        thrown = null;
        switch (failure) {
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case null, default -> {}
        }
        Consumer<MessageWriter> writes = messages;
        if (readError != 0 || writes == null) {
            return -readError;
        }
        messages = null;
        MessageWriter writer = new MessageWriter(into);
        writes.accept(writer);
        return writer.count();
    }

    @Override
    public long copy(long destination, long source, long length, long mode) {
        return carryOut(mode == 0 ? "copy writable" : "copy", destination, length);
    }

    @Override
    public long zeropage(long start, long length) {
        return carryOut("zero", start, length);
    }

    @Override
    public long continueAt(long start, long length) {
        return carryOut("continue", start, length);
    }

    @Override
    public long poison(long start, long length) {
        return carryOut("poison", start, length);
    }

    @Override
    public int writeProtect(long start, long length, boolean protect) {
        long result = carryOut(protect ? "protect" : "unprotect", start, length);
        return result < 0 ? (int) result : 0;
    }

    @Override
    public PageFaults child(int descriptor) {
        return forks.remove();
    }

    @Override
    public void close() {}

    @Override
    public int wake(long start, long length) {
        long result = carryOut("wake", start, length);
        return result < 0 ? (int) result : 0;
    }
}
