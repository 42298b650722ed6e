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
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * All of a space's memory as one stream of bytes, the first page first. While it is saved or loaded, no node can attach a
 * guest to the space. Any thread may call it.
 */
public final class SpaceImage {
    /** Pages of one image that are transferred at once, but no more than {@link #WINDOW_BYTES} of them, or one. */
    private static final int WINDOW = 32;

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
            SpaceMap map = use.map();
            Optional<PresenceMap> known = presence.read(use);
            byte[] zeros = new byte[map.pageSize()];
            for (long first = 0; first < map.pages(); first += window(map)) {
                List<Future<byte[]>> window = new ArrayList<>();
                for (long page = first; page < Math.min(map.pages(), first + window(map)); page++) {
                    long number = page;
                    window.add(
                            isZeros(known, page)
                                    ? CompletableFuture.completedFuture(zeros)
                                    : workers.submit(() -> pages.get(use.another(), number)));
                }
                for (Future<byte[]> page : window) {
                    to.write(outcome(page));
                }
            }
        }
    }

    private static boolean isZeros(Optional<PresenceMap> known, long page) {
        return known.isPresent() && known.get().get((int) page) == PresenceMap.ZERO;
    }

    /**
     * Reads the memory of a space from {@code from}, which must have exactly as many bytes. Pages of zeros are not
     * written where the homes have zeros.
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
            long bytes = map.pages() * map.pageSize();
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
            after = map.pages() == map.storedPages()
                    ? Optional.empty()
                    : Optional.of(PresenceMap.zeros((int) map.pages()));
        }

        void run(InputStream from) throws IOException, PageException, InterruptedException {
            String failure = "its agent failed";
            try (ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
                for (long first = 0; first < map.pages(); first += window(map)) {
                    List<Future<byte[]>> window = new ArrayList<>();
                    for (long page = first; page < Math.min(map.pages(), first + window(map)); page++) {
                        write(page, read(from, page), workers, window);
                    }
                    for (Future<byte[]> page : window) {
                        outcome(page);
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
        }

        private byte[] read(InputStream from, long page) throws IOException {
            byte[] data = from.readNBytes(map.pageSize());
            if (data.length < map.pageSize()) {
                throw tooShort(map, page);
            }
            return data;
        }

        private void write(long page, byte[] data, ExecutorService workers, List<Future<byte[]>> window) {
            boolean zeros = Zeros.are(MemorySegment.ofArray(data));
            if (!zeros) {
                after.ifPresent(now -> now.set((int) page, PresenceMap.PRESENT));
            }
            if (!zeros || !isZeros(before, page)) {
                hasWritten = true;
                use.presence(Optional.empty());
                window.add(workers.submit(() -> {
                    pages.write(use.another(), page, data);
                    return data;
                }));
            }
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
