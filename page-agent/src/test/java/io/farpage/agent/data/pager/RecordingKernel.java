package io.farpage.agent.data.pager;

import io.farpage.linux.uffd.PageFaults;
import io.farpage.linux.uffd.UffdMessages;
import java.util.ArrayList;
import java.util.List;

/** Carries out whatever it is asked for, unless it is told to refuse, and notes it by page of 4 KiB. */
final class RecordingKernel implements PageFaults {
    private static final int PAGE = 4096;

    final List<String> calls = new ArrayList<>();
    /** The error number of the next installation or protection; 0 for none. */
    int refusal;

    private long carryOut(String call, long start, long length) {
        long pages = length / PAGE;
        calls.add(call + " " + (start - PagerParts.BASE) / PAGE + (pages == 1 ? "" : "*" + pages));
        int refused = refusal;
        refusal = 0;
        return refused == 0 ? length : -refused;
    }

    @Override
    public int fd() {
        return -1;
    }

    @Override
    public int read(UffdMessages messages) {
        return 0;
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
        throw new AssertionError("no process forks");
    }

    @Override
    public void close() {}

    @Override
    public int wake(long start, long length) {
        carryOut("wake", start, length);
        return 0;
    }
}
