package io.farpage.agent.pager.model;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * What each page may hold: what was last stored, or zeros once it was given up. While a removal is under way, from its call to its
 * return, both may be found; once zeros were found, what was there before must not come back.
 */
final class Truth {
    /** A call of madvise(2) under way. */
    static final class Removal {
        private final int first;
        private final int count;
        private final long since;

        private Removal(int first, int count, long since) {
            this.first = first;
            this.count = count;
            this.since = since;
        }

        boolean covers(int page) {
            return page >= first && page < first + count;
        }
    }

    private final List<Set<Long>> possible = new ArrayList<>();
    private final boolean[] givenUp;
    private final List<Removal> removals = new ArrayList<>();
    private long versions;

    /** All pages are zeros. */
    Truth(int pages) {
        for (int page = 0; page < pages; page++) {
            possible.add(new TreeSet<>(Set.of(0L)));
        }
        givenUp = new boolean[pages];
    }

    /** A store of something new, which is returned. */
    long store(int page) {
        return store(page, ++versions);
    }

    long storeZeros(int page) {
        return store(page, 0);
    }

    private long store(int page, long version) {
        givenUp[page] = false;
        become(page, version);
        return version;
    }

    private void become(int page, long version) {
        Set<Long> now = possible.get(page);
        now.clear();
        now.add(version);
        if (isBeingRemoved(page)) {
            now.add(0L);
            givenUp[page] = true;
        }
    }

    /** Whether the guest may find this. */
    boolean allows(int page, long version) {
        return possible.get(page).contains(version);
    }

    /** The guest has found this. */
    void found(int page, long version) {
        if (!allows(page, version)) {
            throw new AssertionError("page " + page + " reads as version " + version + ", which is not of " + of(page));
        }
        become(page, version);
    }

    /** Whether the page may be zeros because it was given up, rather than because zeros were stored. */
    boolean isGivenUp(int page) {
        return givenUp[page] && allows(page, 0);
    }

    boolean isBeingRemoved(int page) {
        for (Removal removal : removals) {
            if (removal.covers(page)) {
                return true;
            }
        }
        return false;
    }

    Removal remove(int first, int count) {
        Removal removal = new Removal(first, count, ++versions);
        removals.add(removal);
        for (int page = first; page < first + count; page++) {
            possible.get(page).add(0L);
            givenUp[page] = true;
        }
        return removal;
    }

    /** The call returns: what was stored before it is gone. */
    void removed(Removal removal) {
        removals.remove(removal);
        for (int page = removal.first; page < removal.first + removal.count; page++) {
            possible.get(page).removeIf(version -> version != 0 && version < removal.since);
        }
    }

    /** The caller was killed: either may be found for ever. */
    void abandoned(Removal removal) {
        removals.remove(removal);
    }

    /** What the page may hold, for messages. */
    Set<Long> of(int page) {
        return new HashSet<>(possible.get(page));
    }

    /** All that decides what may be found later, but for the numbers of the versions. */
    String shape() {
        StringBuilder shape = new StringBuilder();
        for (int page = 0; page < givenUp.length; page++) {
            shape.append(possible.get(page)).append(givenUp[page] ? 'u' : '-');
        }
        for (Removal removal : removals) {
            shape.append(removal.first)
                    .append('+')
                    .append(removal.count)
                    .append('@')
                    .append(removal.since);
        }
        return shape.toString();
    }
}
