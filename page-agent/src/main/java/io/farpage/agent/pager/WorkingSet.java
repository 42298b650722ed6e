package io.farpage.agent.pager;

import java.util.Arrays;

/**
 * The pages that were here when a guest ended, in runs: what to fetch when it comes again, before it asks. Immutable.
 */
public final class WorkingSet {
    /** Of a guest that was never here. */
    public static final WorkingSet EMPTY = new WorkingSet(new int[0], new int[0]);

    private final int[] first;
    private final int[] count;

    private WorkingSet(int[] first, int[] count) {
        this.first = first;
        this.count = count;
    }

    static WorkingSet of(PageTable table) {
        int[] first = new int[16];
        int[] count = new int[16];
        int runs = 0;
        for (int page = 0; page < table.pages(); page++) {
            if (!table.isResident(page)) {
                continue;
            }
            if (runs > 0 && first[runs - 1] + count[runs - 1] == page && count[runs - 1] < PagerOptions.MAX_RUN) {
                count[runs - 1]++;
                continue;
            }
            if (runs == first.length) {
                first = Arrays.copyOf(first, 2 * runs);
                count = Arrays.copyOf(count, 2 * runs);
            }
            first[runs] = page;
            count[runs++] = 1;
        }
        return new WorkingSet(Arrays.copyOf(first, runs), Arrays.copyOf(count, runs));
    }

    /** What of it lies within a slice of the pages, counted from the slice's start. */
    public WorkingSet slice(int start, int pages) {
        int[] ofFirst = new int[first.length];
        int[] ofCount = new int[first.length];
        int runs = 0;
        for (int run = 0; run < first.length; run++) {
            int from = Math.max(first[run], start);
            int to = Math.min(first[run] + count[run], start + pages);
            if (from < to) {
                ofFirst[runs] = from - start;
                ofCount[runs++] = to - from;
            }
        }
        return new WorkingSet(Arrays.copyOf(ofFirst, runs), Arrays.copyOf(ofCount, runs));
    }

    /** This and what is of a slice that starts at {@code start}, of whose pages this has none. */
    public WorkingSet with(WorkingSet slice, int start) {
        int[] ofFirst = Arrays.copyOf(first, first.length + slice.first.length);
        int[] ofCount = Arrays.copyOf(count, ofFirst.length);
        for (int run = 0; run < slice.first.length; run++) {
            ofFirst[first.length + run] = slice.first[run] + start;
            ofCount[first.length + run] = slice.count[run];
        }
        return new WorkingSet(ofFirst, ofCount);
    }

    /** How many runs there are. */
    public int runs() {
        return first.length;
    }

    /** How many pages there are. */
    public long pages() {
        return Arrays.stream(count).asLongStream().sum();
    }

    int first(int run) {
        return first[run];
    }

    int count(int run) {
        return count[run];
    }
}
