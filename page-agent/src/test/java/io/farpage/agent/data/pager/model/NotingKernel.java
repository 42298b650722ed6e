package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.MessageWriter;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.UffdMessages;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A kernel that throws when it is told to, and notes what it is asked for. */
final class NotingKernel implements PageFaults {
    static final int FD = 77;
    /** Where the guest's memory begins. */
    static final long BASE = 1L << 30;

    final List<String> asked = new ArrayList<>();
    List<Long> results = List.of();

    @Nullable
    Throwable thrown;

    @Nullable
    Consumer<MessageWriter> says;

    @Override
    public int fd() {
        return FD;
    }

    @Override
    public int read(UffdMessages messages) {
        switch (thrown) {
            case RuntimeException e -> {
                thrown = null;
                throw e;
            }
            case Error e -> {
                thrown = null;
                throw e;
            }
            case null, default -> {}
        }
        if (says == null) {
            return 0;
        }
        MessageWriter writer = new MessageWriter(messages);
        says.accept(writer);
        says = null;
        return writer.count();
    }

    private long ask(String what, long start) {
        asked.add(what + " " + (start - BASE) / Memory.PAGE);
        if (!what.equals("poison") || results.isEmpty()) {
            return Memory.PAGE;
        }
        long result = results.getFirst();
        results = results.subList(1, results.size());
        return result;
    }

    @Override
    public long copy(long destination, long source, long length, long mode) {
        return ask("copy", destination);
    }

    @Override
    public long zeropage(long start, long length) {
        return ask("zeropage", start);
    }

    @Override
    public long continueAt(long start, long length) {
        return -Errno.ENOENT;
    }

    @Override
    public long poison(long start, long length) {
        return ask("poison", start);
    }

    @Override
    public int writeProtect(long start, long length, boolean protect) {
        ask(protect ? "protect" : "unprotect", start);
        return 0;
    }

    @Override
    public PageFaults child(int descriptor) {
        throw new AssertionError("nothing forks");
    }

    @Override
    public void close() {}

    @Override
    public int wake(long start, long length) {
        ask("wake", start);
        return 0;
    }
}
