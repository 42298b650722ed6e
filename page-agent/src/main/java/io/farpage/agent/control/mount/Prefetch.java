package io.farpage.agent.control.mount;

import io.farpage.agent.control.page.PageException;
import io.farpage.agent.control.page.SpaceReader;
import io.farpage.agent.data.pager.page.PresenceMap;

/** Puts the pages that the last guest of a space had in its memory into the page cache, in runs. One thread. */
final class Prefetch {
    private static final int RUN_BYTES = 128 << 10;

    private final SpaceReader from;
    private final Target to;

    /** Takes bytes of a file. */
    @FunctionalInterface
    interface Target {
        /** Returns whether more are wanted. */
        boolean put(long offset, byte[] data);
    }

    Prefetch(SpaceReader from, Target to) {
        this.from = from;
        this.to = to;
    }

    /** Runs to the end. Returns how many bytes were put. What cannot be read is left out: the guest asks for it. */
    long run() {
        PresenceMap map = from.runs().presence();
        if (map == null) {
            return 0;
        }
        int pageSize = (int) (from.size() / map.pages());
        int pagesOfRun = Math.max(1, RUN_BYTES / pageSize);
        long done = 0;
        try {
            for (int page = 0; page < map.pages(); ) {
                int end = Math.min(map.endOfRun(page), page + pagesOfRun);
                if (map.get(page) == PresenceMap.WANTED) {
                    byte[] data = from.read((long) page * pageSize, (end - page) * pageSize);
                    if (!to.put((long) page * pageSize, data)) {
                        return done;
                    }
                    done += data.length;
                } else {
                    end = map.endOfRun(page);
                }
                page = end;
            }
        } catch (PageException e) {
            return done;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return done;
    }
}
