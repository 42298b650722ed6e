package io.farpage.agent.data.pager.model;

import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.PresentPages;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The pages of a memory file, which all address spaces have, or the private ones of one address space, which no file
 * backs.
 */
final class SimulatedMemory implements GuestFile, PresentPages {
    private final Host host;
    private final int pageBytes;
    private final boolean[] cached;
    private final long[] content;
    private final int[] frames;
    /** Whether a page was installed protected, and neither it nor its protection was touched since. */
    private final boolean[] isUntouched;
    /**
     * By page: whether an installation was refused because the page exists, so that the agent cannot know whether it
     * was stored to.
     */
    private final boolean[] isFound;

    private final List<SimulatedKernel> mappers = new ArrayList<>();

    SimulatedMemory(Host host) {
        this.host = host;
        pageBytes = host.setup.pageBytes();
        int pages = host.setup.pages();
        cached = new boolean[pages];
        content = new long[pages];
        frames = new int[pages];
        isUntouched = new boolean[pages];
        isFound = new boolean[pages];
    }

    private SimulatedMemory(SimulatedMemory parent) {
        host = parent.host;
        pageBytes = parent.pageBytes;
        cached = parent.cached.clone();
        content = parent.content.clone();
        frames = new int[cached.length];
        isUntouched = new boolean[cached.length];
        isFound = new boolean[cached.length];
    }

    /** The memory of a child: the same file, or a copy of private pages. */
    SimulatedMemory fork() {
        return host.setup.has(Feature.PRIVATE) ? new SimulatedMemory(this) : this;
    }

    void mappedBy(SimulatedKernel space) {
        mappers.add(space);
    }

    /** Pages in the page cache. */
    int cached() {
        int cached = 0;
        for (int page = 0; page < host.setup.pages(); page++) {
            cached += isCached(page) ? 1 : 0;
        }
        return cached;
    }

    boolean isCached(int page) {
        return cached[page];
    }

    boolean isUntouched(int page) {
        return cached[page] && isUntouched[page];
    }

    /** Whether the agent knows that a page was not stored to since it was installed. */
    boolean isKnownUntouched(int page) {
        return isUntouched(page) && !isFound[page];
    }

    /** An installation is refused because the page exists. */
    void found(int page) {
        isFound[page] = true;
    }

    void touched(int page) {
        isUntouched[page] = false;
    }

    long content(int page) {
        return content[page];
    }

    int frame(int page) {
        return frames[page];
    }

    void install(int page, long version, boolean isProtected) {
        cached[page] = true;
        content[page] = version;
        isUntouched[page] = isProtected;
        isFound[page] = false;
    }

    void store(int page, long version) {
        content[page] = version;
        touched(page);
    }

    /** A device writes to memory that is pinned, even if the page was removed. */
    void storeByDevice(int page, int frame, long version) {
        if (cached[page] && frames[page] == frame) {
            store(page, version);
        }
    }

    /** Removes a page, as fallocate(2) does. */
    void zap(int page) {
        frames[page] += cached[page] ? 1 : 0;
        cached[page] = false;
        mappers.forEach(space -> space.unmap(page));
    }

    /**
     * Fills a part of a page with zeros, as fallocate(2) does of a large page that is in the file, whatever its
     * protection.
     */
    void zeroPart(int page) {
        if (cached[page] && content[page] != 0) {
            store(page, content[page] | Memory.PART_REMOVED);
        }
    }

    @Override
    public long read(long offset, long address, long length) {
        host.called();
        int first = (int) (offset / pageBytes);
        for (int i = 0; i < length / pageBytes; i++) {
            host.reads(first + i);
            Memory.version(address + (long) i * pageBytes, cached[first + i] ? content[first + i] : 0);
        }
        return length;
    }

    @Override
    public int punchHole(long offset, long length) {
        host.called();
        if (host.holeRefusal() != 0) {
            return host.holeRefusal();
        }
        if (offset % pageBytes != 0 || length % pageBytes != 0) {
            throw new AssertionError("a hole from " + offset + " of " + length + " bytes cuts a page");
        }
        int first = (int) (offset / pageBytes);
        for (int i = 0; i < length / pageBytes; i++) {
            if (isUntouched(first + i)) {
                host.dropsClean(first + i);
            }
            zap(first + i);
        }
        host.returned();
        return 0;
    }

    /** No step of its own: nothing but the agent puts pages into the file. */
    @Override
    public long firstPage(long offset, long length) {
        long found = next(offset, true);
        return found >= offset + length ? -Errno.ENXIO : found;
    }

    @Override
    public long nextData(long offset) {
        host.called();
        return next(offset, true);
    }

    @Override
    public long nextHole(long offset) {
        host.called();
        return next(offset, false);
    }

    private long next(long offset, boolean data) {
        for (int page = (int) (offset / pageBytes); page < cached.length; page++) {
            if (cached[page] == data) {
                return (long) page * pageBytes;
            }
        }
        return data ? -Errno.ENXIO : (long) cached.length * pageBytes;
    }

    String describe(int page) {
        long version = content[page] & ~Memory.PART_REMOVED;
        return cached[page] ? "version " + version + (content[page] == version ? "" : " partly removed") : "absent";
    }

    String shape() {
        return Arrays.toString(cached)
                + Arrays.toString(content)
                + Arrays.toString(isUntouched)
                + Arrays.toString(isFound);
    }
}
