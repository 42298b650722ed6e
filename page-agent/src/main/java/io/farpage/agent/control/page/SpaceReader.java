package io.farpage.agent.control.page;

import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.mount.PresentRuns;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import java.util.Optional;

/** Reads bytes of a space that no node writes to; pages that its homes do not have are zeros at once. Any thread. */
public final class SpaceReader {
    private final PageTool pages;
    private final SpaceUse use;
    private final PresentRuns runs;

    /**
     * @param use of the space; open as long as this reads
     * @param presence which pages the homes have; empty if they may have all
     */
    public SpaceReader(PageTool pages, SpaceUse use, Optional<PresenceMap> presence) {
        this.pages = pages;
        this.use = use;
        runs = new PresentRuns(presence.orElse(null));
    }

    /** Bytes of the guest's memory, or of the file that the space holds. */
    public long size() {
        return use.space().contentBytes();
    }

    /** Which pages the homes have. */
    public PresentRuns runs() {
        return runs;
    }

    /**
     * Reads bytes.
     *
     * @throws PageException if some could not be read
     */
    public byte[] read(long offset, int length) throws PageException, InterruptedException {
        byte[] data = new byte[length];
        SpaceMap map = use.map();
        for (int at = 0; at < length; ) {
            long from = offset + at;
            long most = Math.ceilDiv(offset + length, map.pageSize());
            long run = runs.end(map, from / map.pageSize(), most) * map.pageSize();
            int part = (int) (Math.min(offset + length, run) - from);
            if (!runs.isZeros(from / map.pageSize())) {
                System.arraycopy(fetch(from, part), 0, data, at, part);
            }
            at += part;
        }
        return data;
    }

    /**
     * Reads bytes of one extent, also of pages behind those of the guest: page by page, if they cannot be read at once.
     */
    byte[] fetch(long offset, int length) throws PageException, InterruptedException {
        int pageSize = use.map().pageSize();
        try {
            return pages.read(use.another(), offset, length);
        } catch (PageException e) {
            if (length <= pageSize) {
                throw e;
            }
            byte[] data = new byte[length];
            for (int done = 0; done < length; done += pageSize) {
                int part = Math.min(pageSize, length - done);
                System.arraycopy(pages.read(use.another(), offset + done, part), 0, data, done, part);
            }
            return data;
        }
    }
}
