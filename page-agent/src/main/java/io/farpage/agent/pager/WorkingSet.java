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
