package io.farpage.agent.data.pager.model;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What each page may hold: what was last stored, or zeros once it was given up. While a removal is under way, from its
 * call to its return, both may be found; once zeros were found, the earlier bytes must not come back.
 */
final class Truth {
    /**
     * A call of madvise(2) under way.
     *
     * @param first the first page that is given up
     * @param count how many pages are given up, 0 if none is as a whole
     * @param parts pages that are given up in part
     * @param since the newest version before it
     */
    record Removal(int first, int count, List<Integer> parts, long since) {
        boolean covers(int page) {
            return page >= first && page < first + count;
        }

        /** Identity: another removal may have the same numbers. */
        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }
    }

    private final List<Set<Long>> possible = new ArrayList<>();
    private final boolean[] givenUp;
    private final List<Removal> removals = new ArrayList<>();
    /** Number of versions so far, those of processes with copies included. */
    private final AtomicLong versions;

    /** @param versions what each page holds; no version is higher than there are pages */
    Truth(long... versions) {
        this.versions = new AtomicLong(versions.length);
        for (long version : versions) {
            possible.add(new TreeSet<>(Set.of(version)));
        }
        givenUp = new boolean[versions.length];
    }

    private Truth(Truth parent) {
        versions = parent.versions;
        parent.possible.forEach(each -> possible.add(new TreeSet<>(each)));
        givenUp = parent.givenUp.clone();
    }

    /** What a child may find in its copy of the memory. Removals under way are the parent's alone. */
    Truth fork() {
        return new Truth(this);
    }

    /** Stores a new version, and returns it. */
    long store(int page) {
        return store(page, versions.incrementAndGet());
    }

    long storeZeros(int page) {
        return store(page, 0);
    }

    private long store(int page, long version) {
        givenUp[page] = false;
        setVersion(page, version);
        return version;
    }

    private void setVersion(int page, long version) {
        Set<Long> now = possible.get(page);
        now.clear();
        now.add(version);
        if (isBeingPartlyRemoved(page) && version != 0) {
            now.add(version | Memory.PART_REMOVED);
        }
        if (isBeingRemoved(page)) {
            now.add(0L);
            givenUp[page] = true;
        }
    }

    /** Whether the guest may read a version. */
    boolean allows(int page, long version) {
        return possible.get(page).contains(version);
    }

    /** The guest has read a version. */
    void found(int page, long version) {
        if (!allows(page, version)) {
            throw new AssertionError("page " + page + " reads as version " + version + ", which is not of " + of(page));
        }
        setVersion(page, version);
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

    /** Whether a call that gives up a part of the page is under way. */
    boolean isBeingPartlyRemoved(int page) {
        return removals.stream().anyMatch(removal -> removal.parts().contains(page));
    }

    /**
     * A call of madvise(2) gives up pages, and parts of others. What is given up of a part reads as zeros, or as it was
     * if the page was not resident.
     */
    Removal remove(int first, int count, List<Integer> parts) {
        Removal removal = new Removal(first, count, parts, versions.incrementAndGet());
        removals.add(removal);
        for (int page = first; page < first + count; page++) {
            possible.get(page).add(0L);
            givenUp[page] = true;
        }
        for (int page : parts) {
            for (long version : List.copyOf(possible.get(page))) {
                possible.get(page).add(version == 0 ? 0 : version | Memory.PART_REMOVED);
            }
        }
        return removal;
    }

    /** The call returns: earlier versions must not be read from now on. */
    void removed(Removal removal) {
        removals.remove(removal);
        for (int page = removal.first; page < removal.first + removal.count; page++) {
            possible.get(page).removeIf(version -> version != 0 && (version & ~Memory.PART_REMOVED) < removal.since);
        }
    }

    /** The caller was killed: both may be read from now on. */
    void abandoned(Removal removal) {
        removals.remove(removal);
    }

    /** What the page may hold, for messages. */
    Set<Long> of(int page) {
        return new HashSet<>(possible.get(page));
    }

    /** What may be read, without the numbers of the versions. */
    String shape() {
        StringBuilder shape = new StringBuilder();
        for (int page = 0; page < givenUp.length; page++) {
            shape.append(possible.get(page)).append(givenUp[page] ? 'u' : '-');
        }
        for (Removal removal : removals) {
            shape.append(removal.first)
                    .append('+')
                    .append(removal.count)
                    .append(removal.parts)
                    .append('@')
                    .append(removal.since);
        }
        return shape.toString();
    }
}
