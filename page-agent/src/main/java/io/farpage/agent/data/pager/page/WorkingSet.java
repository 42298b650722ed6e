package io.farpage.agent.data.pager.page;

import java.util.Arrays;

/**
 * The pages that were resident when a guest ended, in runs: they are prefetched for the space's next guest. Bounded in
 * size. Immutable.
 */
public final class WorkingSet {
    /** No pages. */
    public static final WorkingSet EMPTY = new WorkingSet(new int[0], new int[0]);

    /** Runs that are kept: half a MiB of heap, and up to 16 GiB of a guest with pages of 4 KiB. */
    public static final int MAX_RUNS = 65_536;

    private final int[] first;
    private final int[] count;

    private WorkingSet(int[] first, int[] count) {
        this.first = first;
        this.count = count;
    }

    /** Collects the runs of a page table in steps. Keeps the longest {@link #MAX_RUNS}. */
    public static final class Scan {
        private final PageTable table;
        private int[] first = new int[16];
        private int[] count = new int[16];
        private int runs;
        private int page;
        private int least = 1;

        public Scan(PageTable table) {
            this.table = table;
        }

        /**
         * Examines some pages more.
         *
         * @param most pages to examine
         * @return how many were examined
         */
        public int doWork(int most) {
            int from = page;
            int end = page + Math.min(most, table.pages() - page);
            for (int at = table.nextResident(page, end); at < end; at = table.nextResident(at + 1, end)) {
                add(at);
            }
            page = end;
            return end - from;
        }

        /** Whether all pages were examined. */
        public boolean isDone() {
            return page == table.pages();
        }

        private void add(int at) {
            if (runs > 0 && first[runs - 1] + count[runs - 1] == at && count[runs - 1] < PagerOptions.MAX_RUN) {
                count[runs - 1]++;
                return;
            }
            if (runs > 0 && count[runs - 1] < least) {
                runs--;
            }
            while (runs == MAX_RUNS) {
                least = least == PagerOptions.MAX_RUN ? least + 1 : Math.min(PagerOptions.MAX_RUN, 2 * least);
                dropShort();
            }
            if (runs == first.length) {
                first = Arrays.copyOf(first, 2 * runs);
                count = Arrays.copyOf(count, 2 * runs);
            }
            first[runs] = at;
            count[runs++] = 1;
        }

        private void dropShort() {
            int kept = 0;
            for (int run = 0; run < runs; run++) {
                if (count[run] >= least) {
                    first[kept] = first[run];
                    count[kept++] = count[run];
                }
            }
            runs = kept;
        }

        public WorkingSet found() {
            return new WorkingSet(Arrays.copyOf(first, runs), Arrays.copyOf(count, runs));
        }
    }

    /** The part within a slice of the pages, counted from the slice's start. */
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

    /** The union with the working set of a slice that starts at {@code start}, of whose pages this set has none. */
    public WorkingSet with(WorkingSet slice, int start) {
        int[] ofFirst = Arrays.copyOf(first, first.length + slice.first.length);
        int[] ofCount = Arrays.copyOf(count, ofFirst.length);
        for (int run = 0; run < slice.first.length; run++) {
            ofFirst[first.length + run] = slice.first[run] + start;
            ofCount[first.length + run] = slice.count[run];
        }
        return new WorkingSet(ofFirst, ofCount);
    }

    /** Number of runs. */
    public int runs() {
        return first.length;
    }

    public int first(int run) {
        return first[run];
    }

    public int count(int run) {
        return count[run];
    }
}
