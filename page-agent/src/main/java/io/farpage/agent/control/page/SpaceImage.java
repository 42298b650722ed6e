package io.farpage.agent.control.page;

import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.pager.page.Zeros;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * All of a space's memory as one stream of bytes, the first page first. While it is saved or loaded, no node can attach
 * a guest to the space. Any thread may call it.
 */
public final class SpaceImage {
    /** Bytes of neighbouring pages that are transferred at once, or a page if that is larger. */
    static final int RUN_BYTES = 128 << 10;

    /** Such runs of one image that are under way at once, but no more than {@link #WINDOW_BYTES} of them, or one. */
    private static final int WINDOW = 8;

    private static final int WINDOW_BYTES = 8 << 20;
    private final PageTool pages;
    private final SpacePresence presence;

    /** @param presence of the pages that need not be transferred */
    public SpaceImage(PageTool pages, SpacePresence presence) {
        this.pages = pages;
        this.presence = presence;
    }

    /**
     * Writes the memory of a space to {@code to}. Pages that the homes do not have are not fetched.
     *
     * @param use of the space; closed at the end
     * @throws PageException if a page could not be read; what was written by then is incomplete
     */
    public void save(SpaceUse use, OutputStream to) throws IOException, PageException, InterruptedException {
        try (use;
                ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
            SpaceReader reader = new SpaceReader(pages, use, presence.read(use));
            int run = pagesOfRun(use.map()) * use.map().pageSize();
            int window = window(use.map());
            for (long at = 0; at < reader.size(); ) {
                List<Future<byte[]>> runs = new ArrayList<>();
                while (runs.size() < window && at < reader.size()) {
                    long from = at;
                    int length = (int) Math.min(run, reader.size() - from);
                    runs.add(workers.submit(() -> reader.read(from, length)));
                    at += length;
                }
                for (Future<byte[]> one : runs) {
                    to.write(outcome(one));
                }
            }
        }
    }

    private static long endOfExtent(SpaceMap map, long page) {
        int next = map.extent(page) + 1;
        return Math.min(map.pages(), next < map.extents() ? map.firstPage(next) : map.pages());
    }

    private static int pagesOfRun(SpaceMap map) {
        return Math.max(1, RUN_BYTES / map.pageSize());
    }

    /** Writes pages of one extent: one by one, if they cannot be written at once. */
    private void write(SpaceUse use, long first, byte[] data) throws PageException, InterruptedException {
        int pageSize = use.map().pageSize();
        try {
            pages.write(use.another(), first, data);
        } catch (PageException e) {
            if (data.length == pageSize) {
                throw e;
            }
            for (int at = 0; at < data.length; at += pageSize) {
                pages.write(use.another(), first + at / pageSize, Arrays.copyOfRange(data, at, at + pageSize));
            }
        }
    }

    private static boolean isZeros(Optional<PresenceMap> known, long page) {
        return known.isPresent() && known.get().get((int) page) == PresenceMap.ZERO;
    }

    /**
     * Reads the memory of a space from {@code from}, which must have exactly as many bytes. Pages of zeros are not
     * written where the homes have zeros. A space that was made to be loaded is a snapshot when it is detached.
     *
     * @param use of the space, exclusive; closed at the end
     * @param length of {@code from}, if it is known
     * @throws PageException if a page could not be written; the space is torn if others were
     * @throws IOException if {@code from} does not have exactly as many bytes; the space is torn if some were written
     */
    public void load(SpaceUse use, InputStream from, OptionalLong length)
            throws IOException, PageException, InterruptedException {
        try (use) {
            SpaceMap map = use.map();
            long bytes = use.space().contentBytes();
            if (length.orElse(bytes) < bytes) {
                throw tooShort(map, length.getAsLong() / map.pageSize());
            }
            if (length.orElse(bytes) > bytes) {
                throw tooLong(map);
            }
            new Loading(use, presence.read(use)).run(from);
        }
    }

    private static IOException tooShort(SpaceMap map, long page) {
        return new EOFException("the file ends in page %d; space '%s' has %d pages of %d bytes"
                .formatted(page, map.name(), map.pages(), map.pageSize()));
    }

    private static IOException tooLong(SpaceMap map) {
        return new IOException("the file is longer than space '%s', which has %d pages of %d bytes"
                .formatted(map.name(), map.pages(), map.pageSize()));
    }

    /** One load of a space. */
    private final class Loading {
        private final SpaceUse use;
        private final SpaceMap map;
        private final Optional<PresenceMap> before;
        private final Optional<PresenceMap> after;
        private boolean hasWritten;

        Loading(SpaceUse use, Optional<PresenceMap> before) {
            this.use = use;
            this.before = before;
            map = use.map();
            after = map.pages() == map.storedPages() || map.pages() > Integer.MAX_VALUE
                    ? Optional.empty()
                    : Optional.of(PresenceMap.zeros((int) map.pages()));
        }

        void run(InputStream from) throws IOException, PageException, InterruptedException {
            String failure = "its agent failed";
            try (ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
                for (long first = 0; first < map.pages(); ) {
                    List<Future<byte[]>> window = new ArrayList<>();
                    while (window.size() < window(map) && first < map.pages()) {
                        int count = (int) (Math.min(first + pagesOfRun(map), endOfExtent(map, first)) - first);
                        writeChanged(first, read(from, first, count), workers, window);
                        first += count;
                    }
                    for (Future<byte[]> run : window) {
                        outcome(run);
                    }
                }
                if (from.read() >= 0) {
                    throw tooLong(map);
                }
                failure = "";
            } catch (IOException | PageException e) {
                failure = String.valueOf(e.getMessage());
                throw e;
            } finally {
                if (!failure.isEmpty() && hasWritten) {
                    use.tear("an image was loaded only in part: " + failure);
                }
            }
            if (hasWritten) {
                use.presence(after.flatMap(now -> presence.write(use, now)));
            }
            if (use.space().isLoading()) {
                use.loaded();
            }
        }

        /** Some pages. What is behind the end of a file is zeros. */
        private byte[] read(InputStream from, long first, int count) throws IOException {
            int bytes = count * map.pageSize();
            int expected = (int) Math.min(bytes, use.space().contentBytes() - first * map.pageSize());
            byte[] data = from.readNBytes(expected);
            if (data.length < expected) {
                throw tooShort(map, first + data.length / map.pageSize());
            }
            return data.length == bytes ? data : Arrays.copyOf(data, bytes);
        }

        /** Begins to write those of some pages that are not zeros where the homes have zeros, in runs. */
        private void writeChanged(long first, byte[] data, ExecutorService workers, List<Future<byte[]>> window) {
            int count = data.length / map.pageSize();
            int from = 0;
            for (int i = 0; i <= count; i++) {
                if (i == count || !isWritten(first + i, data, i * map.pageSize())) {
                    if (i > from) {
                        begin(
                                first + from,
                                Arrays.copyOfRange(data, from * map.pageSize(), i * map.pageSize()),
                                workers,
                                window);
                    }
                    from = i + 1;
                }
            }
        }

        private boolean isWritten(long page, byte[] data, int at) {
            boolean zeros = Zeros.are(MemorySegment.ofArray(data).asSlice(at, map.pageSize()));
            if (!zeros) {
                after.ifPresent(now -> now.set((int) page, PresenceMap.PRESENT));
            }
            return !zeros || !isZeros(before, page);
        }

        private void begin(long first, byte[] run, ExecutorService workers, List<Future<byte[]>> window) {
            hasWritten = true;
            window.add(workers.submit(() -> {
                SpaceImage.this.write(use, first, run);
                return run;
            }));
        }
    }

    private static int window(SpaceMap map) {
        return Math.min(WINDOW, Math.max(1, WINDOW_BYTES / map.pageSize()));
    }

    private static byte[] outcome(Future<byte[]> page) throws IOException, PageException, InterruptedException {
        try {
            return page.get();
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case PageException why -> throw why;
                case RuntimeException why -> throw why;
                case null, default -> throw new IOException(e.getCause());
            }
        }
    }
}
