package io.farpage.agent.control.page;

import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.coordinator.client.CoordinatorException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * All of a space's memory as one stream of bytes, the first page first. While it runs, no node can attach a guest to
 * the space. Any thread may call it.
 */
public final class SpaceImage {
    /** Pages of one image that are transferred at once, but no more than {@link #WINDOW_BYTES} of them, or one. */
    private static final int WINDOW = 32;

    private static final int WINDOW_BYTES = 8 << 20;
    private final Spaces spaces;
    private final PageTool pages;

    public SpaceImage(Spaces spaces, PageTool pages) {
        this.spaces = spaces;
        this.pages = pages;
    }

    /**
     * Writes the memory of a space to {@code to}.
     *
     * @param use of the space; closed at the end
     * @throws PageException if a page could not be read; what was written by then is incomplete
     */
    public void save(SpaceUse use, OutputStream to) throws IOException, PageException, InterruptedException {
        try (use;
                ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
            SpaceMap map = use.map();
            for (long first = 0; first < map.pages(); first += window(map)) {
                List<Future<byte[]>> window = new ArrayList<>();
                for (long page = first; page < Math.min(map.pages(), first + window(map)); page++) {
                    long number = page;
                    window.add(workers.submit(() -> pages.get(another(map), number)));
                }
                for (Future<byte[]> page : window) {
                    to.write(outcome(page));
                }
            }
        }
    }

    /**
     * Reads the memory of a space from {@code from}, which must have exactly as many bytes.
     *
     * @param use of the space; closed at the end
     * @throws PageException if a page could not be written; the space then holds new and old pages
     * @throws EOFException if {@code from} has fewer bytes
     */
    public void load(SpaceUse use, InputStream from) throws IOException, PageException, InterruptedException {
        try (use;
                ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
            SpaceMap map = use.map();
            for (long first = 0; first < map.pages(); first += window(map)) {
                List<Future<byte[]>> window = new ArrayList<>();
                for (long page = first; page < Math.min(map.pages(), first + window(map)); page++) {
                    byte[] data = from.readNBytes(map.pageSize());
                    if (data.length < map.pageSize()) {
                        throw new EOFException("the file ends in page %d; space '%s' has %d pages of %d bytes"
                                .formatted(page, map.name(), map.pages(), map.pageSize()));
                    }
                    long number = page;
                    Callable<byte[]> write = () -> {
                        pages.put(another(map), number, data);
                        return data;
                    };
                    window.add(workers.submit(write));
                }
                for (Future<byte[]> page : window) {
                    outcome(page);
                }
            }
            if (from.read() >= 0) {
                throw new IOException("the file is longer than space '%s', which has %d pages of %d bytes"
                        .formatted(map.name(), map.pages(), map.pageSize()));
            }
        }
    }

    private static int window(SpaceMap map) {
        return Math.min(WINDOW, Math.max(1, WINDOW_BYTES / map.pageSize()));
    }

    /** A use for one page, which the page tool ends. */
    private SpaceUse another(SpaceMap map) throws CoordinatorException, PageException {
        Optional<SpaceUse> use = spaces.use(map.id());
        return use.orElseThrow(
                () -> new PageException(FetchStatus.CLOSED, "space '" + map.name() + "' is being deleted"));
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
