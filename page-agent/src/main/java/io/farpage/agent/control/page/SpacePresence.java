package io.farpage.agent.control.page;

import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Presence;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads and writes the {@link Presence presence maps} of spaces, which are in pages behind those of the guest. A map
 * that cannot be read, or is not whole, counts as none: all pages may be at their homes then. Any thread.
 */
public final class SpacePresence {
    private static final Logger log = LoggerFactory.getLogger(SpacePresence.class);

    private static final int MARK_BYTES = 16;
    private static final int CHECKSUM_AT = 16;
    private static final int NUMBER_AT = 20;

    private final PageTool pages;
    private final SecureRandom random = new SecureRandom();

    /** @param pages moves the pages of maps */
    public SpacePresence(PageTool pages) {
        this.pages = pages;
    }

    /**
     * The map of a space that is right until this use writes. That of a thin space says at least which pages have no
     * room, and so are zeros. A clone without a map has that of its snapshot, and all pages that it has homes for.
     *
     * @return empty if there is none, or it cannot be read; the log says why
     */
    public Optional<PresenceMap> read(SpaceUse use) throws InterruptedException {
        SpaceMap space = use.map();
        Optional<PresenceMap> stored = readStored(use, space);
        if (stored.isEmpty() && use.base().isPresent()) {
            stored = read(use.base().get());
            stored.ifPresent(space::describeAllocated);
        }
        if (!space.isAnyUnallocated() || space.pages() > Integer.MAX_VALUE) {
            return stored;
        }
        PresenceMap map = stored.orElseGet(() -> PresenceMap.unknown((int) space.pages()));
        space.describe(map);
        return Optional.of(map);
    }

    private Optional<PresenceMap> readStored(SpaceUse use, SpaceMap space) throws InterruptedException {
        try {
            Optional<String> mark = use.presence();
            if (mark.isEmpty() || space.pages() > Integer.MAX_VALUE) {
                return Optional.empty();
            }
            if (mark.get().equals(Presence.ZEROS)) {
                return Optional.of(PresenceMap.zeros((int) space.pages()));
            }
            Optional<PresenceMap> kept = use.keptPresence();
            if (kept.isPresent()) {
                return kept;
            }
            PresenceMap map = read(use, mark.get());
            use.keepPresence(map);
            return Optional.of(map);
        } catch (PageException | CoordinatorException e) {
            log.warn(
                    "the presence map of space {} is not read, so pages of zeros are fetched: {}",
                    space.name(),
                    e.getMessage());
            return Optional.empty();
        }
    }

    private PresenceMap read(SpaceUse use, String mark) throws PageException, InterruptedException {
        SpaceMap space = use.map();
        SpaceReader reader = new SpaceReader(pages, use, Optional.empty());
        List<Callable<byte[]>> reads = new ArrayList<>();
        long end;
        for (long page = space.pages(); page < space.storedPages(); page = end) {
            long first = page;
            end = Math.min(
                    space.endPage(space.extent(page)), page + Math.max(1, SpaceImage.RUN_BYTES / space.pageSize()));
            int length = (int) (end - first) * space.pageSize();
            reads.add(() -> reader.fetch(first * space.pageSize(), length));
        }
        PresenceMap map = PresenceMap.zeros((int) space.pages());
        int number = 0;
        for (byte[] run : all(reads)) {
            for (int at = 0; at < run.length; at += space.pageSize()) {
                byte[] page = Arrays.copyOfRange(run, at, at + space.pageSize());
                Optional<String> damage = damage(page, mark, number);
                if (damage.isPresent()) {
                    throw new PageException(
                            FetchStatus.REFUSED, "page %d of the map %s".formatted(number, damage.get()));
                }
                map.read(firstEntry(number, space), page, Presence.HEADER_BYTES, page.length - Presence.HEADER_BYTES);
                number++;
            }
        }
        return map;
    }

    /**
     * Writes a map to all homes of a space. No other node may write to the space meanwhile.
     *
     * @param use exclusive
     * @return its mark; empty if it cannot be written, as the log says
     */
    public Optional<String> write(SpaceUse use, PresenceMap map) {
        SpaceMap space = use.map();
        if (space.storedPages() <= space.pages()) {
            return Optional.empty();
        }
        byte[] mark = new byte[MARK_BYTES];
        random.nextBytes(mark);
        List<Callable<byte[]>> writes = new ArrayList<>();
        for (long page = space.pages(); page < space.storedPages(); page++) {
            long number = page;
            byte[] data = encode(map, mark, (int) (number - space.pages()), space);
            writes.add(() -> {
                pages.write(use.another(), number, data);
                return data;
            });
        }
        try {
            all(writes);
            return Optional.of(HexFormat.of().formatHex(mark));
        } catch (PageException e) {
            log.warn(
                    "the presence map of space {} is not written, so its next guest fetches pages of zeros: {}",
                    space.name(),
                    e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return Optional.empty();
    }

    private static int firstEntry(int number, SpaceMap space) {
        return (int) (number * Presence.entriesOfPage(space.pageSize()));
    }

    private static byte[] encode(PresenceMap map, byte[] mark, int number, SpaceMap space) {
        byte[] page = new byte[space.pageSize()];
        map.write(firstEntry(number, space), page, Presence.HEADER_BYTES, page.length - Presence.HEADER_BYTES);
        ByteBuffer header = ByteBuffer.wrap(page).order(ByteOrder.LITTLE_ENDIAN);
        header.put(mark).putInt(NUMBER_AT, number).putInt(CHECKSUM_AT, checksum(page));
        return page;
    }

    /** What is wrong with a page of a map; empty if it is in order. */
    private static Optional<String> damage(byte[] page, String mark, int number) {
        ByteBuffer header = ByteBuffer.wrap(page).order(ByteOrder.LITTLE_ENDIAN);
        String found = HexFormat.of().formatHex(page, 0, MARK_BYTES);
        if (!found.equals(mark)) {
            return Optional.of("has the mark %s and not %s".formatted(found, mark));
        }
        if (header.getInt(CHECKSUM_AT) != checksum(page)) {
            return Optional.of("is damaged: its checksum does not fit");
        }
        if (header.getInt(NUMBER_AT) != number) {
            return Optional.of("is page %d".formatted(header.getInt(NUMBER_AT)));
        }
        return Optional.empty();
    }

    private static int checksum(byte[] page) {
        CRC32C checksum = new CRC32C();
        checksum.update(page, NUMBER_AT, page.length - NUMBER_AT);
        return (int) checksum.getValue();
    }

    /** The results of all, which run at once. */
    private static List<byte[]> all(List<Callable<byte[]>> transfers) throws PageException, InterruptedException {
        try (ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<byte[]> results = new ArrayList<>();
            for (Future<byte[]> transfer : workers.invokeAll(transfers)) {
                results.add(outcome(transfer));
            }
            return results;
        }
    }

    private static byte[] outcome(Future<byte[]> transfer) throws PageException, InterruptedException {
        try {
            return transfer.get();
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case PageException why -> throw why;
                case RuntimeException why -> throw why;
                case null, default -> throw new IllegalStateException(e.getCause());
            }
        }
    }
}
